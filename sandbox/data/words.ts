import type { Draw, List } from './draw.ts';

const FIRST: List<readonly [string, string]> = [
  ['נועה', 'Noa'],
  ['יוסי', 'Yossi'],
  ['מיכל', 'Michal'],
  ['אבי', 'Avi'],
  ['תמר', 'Tamar'],
  ['דוד', 'David'],
  ['שירה', 'Shira'],
  ['עומר', 'Omer'],
  ['רחל', 'Rachel'],
  ['איתן', 'Eitan'],
  ['לימור', 'Limor'],
  ['סמיר', 'Samir'],
];

const LAST: List<readonly [string, string]> = [
  ['כהן', 'Cohen'],
  ['לוי', 'Levi'],
  ['מזרחי', 'Mizrahi'],
  ['פרץ', 'Peretz'],
  ['ביטון', 'Biton'],
  ['אברהם', 'Avraham'],
  ['פרידמן', 'Friedman'],
  ['חדאד', 'Haddad'],
  ['בן-דוד', 'Ben-David'],
  ["ז'בוטינסקי", 'Jabotinsky'],
];

export const CITIES = ['תל אביב', 'ירושלים', 'חיפה', 'באר שבע', 'נתניה', 'רעננה', 'אשדוד', 'כפר סבא'] as const;
export const STREETS = ['הרצל', "ז'בוטינסקי", 'ויצמן', 'רוטשילד', 'בן גוריון', 'הנביאים', 'סוקולוב'] as const;
export const PROFESSIONS = ['מורה', 'מהנדסת תוכנה', 'רו"ח', 'עו"ד', 'אחות', 'נהג', 'Engineer', 'Architect'] as const;
export const INSURERS = ['הראל', 'מגדל', 'הפניקס', 'כלל ביטוח', 'מנורה מבטחים', 'איילון'] as const;
export const PRODUCTS = [
  'ביטוח חיים',
  'ביטוח בריאות',
  'קרן פנסיה',
  'קופת גמל',
  'ביטוח רכב',
  'Travel insurance',
] as const;
export const SOURCES = ['אתר', 'פייסבוק', 'המלצה', 'קמפיין "שנה טובה"', 'Google', 'כנס סוכנים, 2025'] as const;
export const COMPANIES = [
  'טכנולוגיות צפון בע"מ',
  'מאפיית השכונה',
  'Blue Sea Ltd.',
  "אלון, גפן ושות'",
  'Carmel Foods',
] as const;

/** Free text that makes CSV hard: quotes, commas, line breaks of both kinds, and an empty text. */
export const NOTES = [
  'ביקש הצעה ל"ביטוח מנהלים", לחזור מחר',
  'Prefers e-mail, not phone',
  'שיחה ראשונה: מעוניין\nשיחה שנייה: לשלוח טפסים',
  '',
  'Said: "call me after 17:00"\r\nלקוח ותיק, VIP',
  'אין הערות מיוחדות',
  'העביר ניוד, ממתין לאישור; "דחוף"',
] as const;

/** The person of a record, whose first and last names match in Hebrew and English. */
export type Person = ReturnType<typeof drawPerson>;

/** Draws the person of a record. Call it before the columns are drawn. */
export function drawPerson(draw: Draw) {
  const [first, engFirst] = draw.pick(FIRST);
  const [last, engLast] = draw.pick(LAST);
  const email = `${engFirst}.${engLast}${draw.index}@example.com`.toLowerCase();
  return { first, last, engFirst, engLast, email, cell: `+9725${draw.int(0, 8)}${draw.digits(7)}` };
}
