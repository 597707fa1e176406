import { type Column, column } from './column.ts';
import { CITIES, COMPANIES, INSURERS, NOTES, PRODUCTS, STREETS } from './words.ts';

const NOTE = column('notes', 'הערות', 'string', (d) => d.turn(NOTES));
const CREATED = column('createdAt', 'נוצר', 'datetime', (d) => d.datetime(2000));
const AGENT_NAME = column('agentName', 'שם סוכן', 'string', (_, p) => `${p.first} ${p.last}`);

export const AGENT_NUMBERS: Column[] = [
  column('agentNumber', 'מספר סוכן', 'string', (d) => d.digits(6)),
  AGENT_NAME,
  column('licenceNumber', 'מספר רישיון', 'string', (d) => d.digits(8)),
  column('insurer', 'חברת ביטוח', 'string', (d) => d.pick(INSURERS)),
  column('product', 'מוצר', 'string', (d) => d.pick(PRODUCTS)),
  column('branch', 'סניף', 'string', (d) => d.pick(CITIES)),
  column('commissionPercent', 'אחוז עמלה', 'number', (d) => d.int(50, 2500) / 100),
  column('validFrom', 'בתוקף מ', 'date', (d) => d.date(3000)),
  column('validTo', 'בתוקף עד', 'date', (d) => (d.chance(0.7) ? null : d.date(300))),
  column('active', 'פעיל', 'boolean', (d) => d.chance(0.85)),
  CREATED,
  NOTE,
];

export const WORKFLOWS: Column[] = [
  column('workflowNumber', 'מספר תהליך', 'integer', (d) => 10_000 + d.index),
  column('title', 'כותרת', 'string', (d) => `${d.pick(['הצטרפות', 'ניוד', 'תביעה', 'Renewal'])}, ${d.pick(PRODUCTS)}`),
  column('stage', 'שלב', 'string', (d) => d.pick(['נפתח', 'ממתין למסמכים', 'אצל היצרן', 'הושלם'])),
  column('priority', 'עדיפות', 'integer', (d) => d.int(1, 4)),
  column('insurer', 'יצרן', 'string', (d) => d.pick(INSURERS)),
  column('customerId', 'לקוח', 'uuid', (d) => d.reference('customer', 200)),
  column('customerName', 'שם לקוח', 'string', (_, p) => `${p.first} ${p.last}`),
  column('ownerId', 'אחראי', 'uuid', (d) => d.reference('agent', 20)),
  column('dueDate', 'תאריך יעד', 'date', (d) => d.date(90)),
  column('closedAt', 'נסגר', 'datetime', (d) => (d.chance(0.5) ? null : d.datetime(90))),
  column('overdue', 'באיחור', 'boolean', (d) => d.chance(0.15)),
  column('amount', 'סכום', 'number', (d) => d.int(10_000, 90_000_000) / 100),
  CREATED,
  NOTE,
];

export const MEETINGS: Column[] = [
  column('subject', 'נושא', 'string', (d) => d.pick(['פגישת היכרות', 'סקירה שנתית', 'חתימה, טפסים', 'Claim review'])),
  column('startsAt', 'התחלה', 'datetime', (d) => d.datetime(400)),
  column('durationMinutes', 'משך בדקות', 'integer', (d) => d.pick([15, 30, 45, 60, 90])),
  column('location', 'מקום', 'string', (d) => `${d.pick(STREETS)} ${d.int(1, 90)}, ${d.pick(CITIES)}`),
  column('channel', 'ערוץ', 'string', (d) => d.pick(['משרד', 'Zoom', 'טלפון', 'בית הלקוח'])),
  AGENT_NAME,
  column('customerId', 'לקוח', 'uuid', (d) => d.reference('customer', 200)),
  column('customerEmail', 'דוא"ל לקוח', 'string', (_, p) => p.email),
  column('customerCell', 'נייד לקוח', 'string', (_, p) => p.cell),
  column('status', 'סטטוס', 'string', (d) => d.pick(['נקבעה', 'התקיימה', 'בוטלה', 'נדחתה'])),
  column('reminderSent', 'נשלחה תזכורת', 'boolean', (d) => d.chance(0.7)),
  column('outcome', 'תוצאה', 'string', (d) => d.pick(['הצעה נשלחה', 'ממתין לתשובה', 'סוכם "בעל פה"'])),
  CREATED,
  NOTE,
];

export const EMPLOYERS: Column[] = [
  column('name', 'שם מעסיק', 'string', (d) => d.turn(COMPANIES)),
  column('companyNumber', 'ח.פ.', 'string', (d) => `51${d.digits(7)}`),
  column('withholdingFile', 'תיק ניכויים', 'string', (d) => `9${d.digits(8)}`),
  column('city', 'עיר', 'string', (d) => d.pick(CITIES)),
  column('street', 'רחוב', 'string', (d) => d.pick(STREETS)),
  column('streetNumber', 'מספר', 'string', (d) => `${d.int(1, 140)}`),
  column('phoneNumber', 'טלפון', 'string', (d) => `0${d.int(2, 9)}-${d.digits(7)}`),
  column('contactName', 'איש קשר', 'string', (_, p) => `${p.first} ${p.last}`),
  column('contactEmail', 'דוא"ל איש קשר', 'string', (_, p) => p.email),
  column('employees', 'מספר עובדים', 'integer', (d) => d.int(1, 3000)),
  column('payrollDay', 'יום שכר', 'integer', (d) => d.pick([1, 5, 9, 10])),
  column('pensionArrangement', 'הסדר פנסיוני', 'boolean', (d) => d.chance(0.8)),
  CREATED,
  NOTE,
];
