import { type Column, column } from './column.ts';
import { CITIES, NOTES, PRODUCTS, PROFESSIONS, SOURCES, STREETS } from './words.ts';

const NAME = [
  column('firstName', 'שם פרטי', 'string', (_, p) => p.first),
  column('lastName', 'שם משפחה', 'string', (_, p) => p.last),
];
const REACH = [
  column('cellNumber', 'טלפון נייד', 'string', (_, p) => p.cell),
  column('email', 'דואר אלקטרוני', 'string', (_, p) => p.email),
];
const TIMES = [
  column('notes', 'הערות', 'string', (d) => d.turn(NOTES)),
  column('createdAt', 'נוצר', 'datetime', (d) => d.datetime(2000)),
  column('updatedAt', 'עודכן', 'datetime', (d) => d.datetime(60)),
];

export const LEADS: Column[] = [
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

export const CONTACTS: Column[] = [
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

export const CUSTOMERS: Column[] = [
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
