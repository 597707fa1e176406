import type { Entity } from '../../core/config/entities.ts';
import type { Draw } from './draw.ts';
import { CITIES, COMPANIES, INSURERS, NOTES, type Person, PRODUCTS, PROFESSIONS, SOURCES, STREETS } from './words.ts';

export type Cell = string | number | boolean | null;

/** One column of an entity, as `GET /{entity}/fields` lists it, with the rule by which its values are made. */
export interface Column {
  fieldName: string;
  label: string;
  type: 'string' | 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'uuid';
  value: (draw: Draw, person: Person) => Cell;
}

/** A column. `value` draws in the order of the columns, so a new column at the end changes no other column. */
function column(fieldName: string, label: string, type: Column['type'], value: Column['value']): Column {
  return { fieldName, label, type, value };
}

const NOTE = column('notes', 'הערות', 'string', (d) => d.turn(NOTES));
const CREATED = column('createdAt', 'נוצר', 'datetime', (d) => d.datetime(2000));
const AGENT_NAME = column('agentName', 'שם סוכן', 'string', (_, p) => `${p.first} ${p.last}`);

const NAME = [
  column('firstName', 'שם פרטי', 'string', (_, p) => p.first),
  column('lastName', 'שם משפחה', 'string', (_, p) => p.last),
];
const REACH = [
  column('cellNumber', 'טלפון נייד', 'string', (_, p) => p.cell),
  column('email', 'דואר אלקטרוני', 'string', (_, p) => p.email),
];
const TIMES = [NOTE, CREATED, column('updatedAt', 'עודכן', 'datetime', (d) => d.datetime(60))];

const LEADS: Column[] = [
  ...NAME,
  ...REACH,
  column('city', 'עיר', 'string', (d) => d.pick(CITIES)),
  column('source', 'מקור', 'string', (d) => d.turn(SOURCES)),
  column('campaign', 'קמפיין', 'string', (d) => `${d.pick(PRODUCTS)} ${d.int(2021, 2025)}`),
  column('interest', 'תחום עניין', 'string', (d) => d.pick(PRODUCTS)),
  column('status', 'סטטוס', 'string', (d) => d.pick(['חדש', 'בטיפול', 'נסגר', 'לא רלוונטי'])),
  column('score', 'ציון', 'integer', (d) => d.int(0, 100)),
  column('estimatedPremium', 'פרמיה משוערת', 'number', (d) => d.int(5_000, 250_000) / 100),
  column('agentId', 'סוכן', 'uuid', (d) => d.reference('agent', 20)),
  column('mailingApproved', 'אישור דיוור', 'boolean', (d) => d.chance(0.6)),
  column('nextContactDate', 'מועד פנייה', 'date', (d) => (d.chance(0.3) ? null : d.date(30))),
  ...TIMES,
];

const CONTACTS: Column[] = [
  ...NAME,
  column('role', 'תפקיד', 'string', (d) => d.pick(['בן/בת זוג', 'מזכירות', 'חשב/ת שכר', 'מנהל/ת', 'Accountant'])),
  ...REACH,
  column('phoneNumber', 'טלפון', 'string', (d) => `0${d.int(2, 9)}-${d.digits(7)}`),
  column('faxNumber', 'פקס', 'string', (d) => (d.chance(0.8) ? null : `0${d.int(2, 9)}-${d.digits(7)}`)),
  column('customerId', 'לקוח', 'uuid', (d) => d.reference('customer', 200)),
  column('city', 'עיר', 'string', (d) => d.pick(CITIES)),
  column('street', 'רחוב', 'string', (d) => d.pick(STREETS)),
  column('birthDate', 'תאריך לידה', 'date', (d) => d.date(25_000)),
  column('isPrimary', 'איש קשר ראשי', 'boolean', (d) => d.chance(0.4)),
  ...TIMES,
];

const CUSTOMERS: Column[] = [
  column('idType', 'סוג מזהה', 'integer', (d) => d.pick([1, 1, 1, 2, 5])),
  column('idNumber', 'מספר מזהה', 'string', (d) => d.digits(9)),
  ...NAME,
  column('engFirstName', 'שם פרטי באנגלית', 'string', (_, p) => p.engFirst),
  column('engLastName', 'שם משפחה באנגלית', 'string', (_, p) => p.engLast),
  column('gender', 'מין', 'integer', (d) => d.int(1, 3)),
  column('birthDate', 'תאריך לידה', 'date', (d) => d.date(30_000)),
  ...REACH,
  column('street', 'רחוב', 'string', (d) => d.pick(STREETS)),
  column('streetNumber', 'מספר בית', 'string', (d) => `${d.int(1, 140)}`),
  column('city', 'עיר', 'string', (d) => d.pick(CITIES)),
  column('postalCode', 'מיקוד', 'integer', (d) => d.int(1_000_000, 9_999_999)),
  column('maritalStatus', 'מצב משפחתי', 'integer', (d) => d.int(1, 5)),
  column('employmentStatus', 'מצב תעסוקתי', 'integer', (d) => d.int(1, 7)),
  column('profession', 'מקצוע', 'string', (d) => d.turn(PROFESSIONS)),
  column('smoker', 'מעשן', 'boolean', (d) => d.chance(0.2)),
  column('kupatHolim', 'קופת חולים', 'integer', (d) => d.int(1, 5)),
  column('monthlyRevenue', 'הכנסה חודשית', 'number', (d) => d.int(500_000, 4_000_000) / 100),
  column('statusId', 'סטטוס', 'uuid', (d) => d.reference('status', 6)),
  ...TIMES,
];

const AGENT_NUMBERS: Column[] = [
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

const WORKFLOWS: Column[] = [
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

const MEETINGS: Column[] = [
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

const EMPLOYERS: Column[] = [
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

/** The columns of each entity besides `id`, which every entity has first. */
export const COLUMNS: Record<Entity, Column[]> = {
  leads: LEADS,
  'agent-numbers': AGENT_NUMBERS,
  workflows: WORKFLOWS,
  contacts: CONTACTS,
  customers: CUSTOMERS,
  meetings: MEETINGS,
  employers: EMPLOYERS,
};

/** The first field of every entity. */
export const ID_FIELD = { fieldName: 'id', label: 'מזהה', type: 'uuid' } as const;

/** All field names of an entity, in the order of the listing. */
export function fieldNames(entity: Entity): string[] {
  return [ID_FIELD.fieldName, ...COLUMNS[entity].map(({ fieldName }) => fieldName)];
}
