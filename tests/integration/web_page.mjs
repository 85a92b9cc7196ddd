// What a page of the server's own origin has, for the examples of the tutorial: node web_page.mjs ORIGIN PACKAGES FOLDER short|stream|react
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

const [origin, packages, folder, what] = process.argv.slice(2);
const network = globalThis.fetch;
globalThis.fetch = (path, init) => network(new URL(path, origin), init);

const request = {
  agents: ['data-steward', 'prospect-finder'],
  rounds: 1,
  messages: [{ role: 'user', content: 'Whom in healthcare should we call?' }],
};
const told = [];
const load = (name) => import(pathToFileURL(join(folder, name)).href);

async function short() {
  console.log = console.error = (...words) => told.push(words[0]);
  await (await load('short.js')).startMultiAgentConversation(request);
  return { told };
}

// Cuts a response into pieces of one byte: what a network may do at its worst.
function cut(response) {
  const bytes = response.body.pipeThrough(
    new TransformStream({
      transform(piece, out) {
        for (const byte of piece) out.enqueue(new Uint8Array([byte]));
      },
    }),
  );
  return new Response(bytes, { status: response.status, headers: response.headers });
}

async function stream() {
  const whole = globalThis.fetch;
  globalThis.fetch = async (path, init) => cut(await whole(path, init));
  const { startMultiAgentConversation } = await load('stream.js');
  for await (const event of startMultiAgentConversation(request)) told.push(event);
  const refused = await startMultiAgentConversation({ ...request, rounds: 11 }).next().catch((error) => error.message);
  return { told, refused };
}

async function react() {
  const require = createRequire(join(packages, 'package.json'));
  const { JSDOM } = require('jsdom');
  const page = new JSDOM('<main></main>', { url: origin });
  Object.assign(globalThis, { window: page.window, document: page.window.document, IS_REACT_ACT_ENVIRONMENT: true });
  Object.defineProperty(globalThis, 'navigator', { value: page.window.navigator, configurable: true });
  const { act, createElement } = require('react');
  const { createRoot } = require('react-dom/client');
  const { useMultiAgentChat } = await load('useMultiAgentChat.js');
  const seen = [];
  let chat;
  function Chat() {
    chat = useMultiAgentChat();
    seen.push(chat.isActive);
    return createElement('p', null, chat.events.map((event) => event.type).join(' '));
  }
  const root = createRoot(document.querySelector('main'));
  await act(() => root.render(createElement(Chat)));
  let going;
  await act(() => {
    going = chat.startConversation(request);
  });
  await act(() => going);
  const text = document.querySelector('p').textContent;
  await act(() => chat.startConversation({ ...request, agents: ['nobody'] }));
  const { error, isActive } = chat;
  await act(() => root.unmount());
  return { text, error, isActive, wasActive: seen.includes(true) };
}

const done = await { short, stream, react }[what]();
process.stdout.write(JSON.stringify(done));
process.exit(0);
