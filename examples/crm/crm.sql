-- A small CRM as of 2024-01-15. Names and figures are made up.
CREATE TABLE Account (
    Id TEXT PRIMARY KEY, Name TEXT NOT NULL, Industry TEXT NOT NULL,
    AnnualRevenue INTEGER NOT NULL, LastContactDate TEXT NOT NULL, Engagement REAL NOT NULL
);
CREATE TABLE Contract (
    Id TEXT PRIMARY KEY, AccountId TEXT NOT NULL REFERENCES Account, EndDate TEXT NOT NULL, Text TEXT NOT NULL
);
INSERT INTO Account VALUES
    ('001HC', 'General Hospital', 'Healthcare', 84000000, '2023-05-15', 0.82),
    ('002HC', 'Lakeside Clinics', 'Healthcare', 31000000, '2023-02-02', 0.64),
    ('003HC', 'Northern Labs', 'Healthcare', 12500000, '2023-12-20', 0.91),
    ('004HC', 'Harbour Dental Group', 'Healthcare', 5400000, '2023-06-30', 0.35),
    ('005HC', 'St. Maren Care Homes', 'Healthcare', 22000000, '2022-11-11', 0.71),
    ('006HC', 'Visio Eye Centres', 'Healthcare', 9700000, '2024-01-03', 0.58),
    ('007RT', 'Corner Market', 'Retail', 41000000, '2023-03-09', 0.77),
    ('008RT', 'Ola Outdoor', 'Retail', 8800000, '2023-11-28', 0.49),
    ('009LG', 'Freightline', 'Logistics', 66000000, '2023-01-19', 0.52),
    ('010LG', 'Parcel Point', 'Logistics', 17500000, '2023-10-02', 0.66);
INSERT INTO Contract VALUES
    ('C-101', '001HC', '2024-03-31', 'Support contract. Renews by one year unless ended 60 days before. No discount on extensions.'),
    ('C-102', '005HC', '2023-12-31', 'Pilot of twelve months. Ended without renewal; the customer named response times as the reason.'),
    ('C-103', '009LG', '2025-06-30', 'Frame contract. Prices fixed until June 2025. Ends with 90 days of notice.');
