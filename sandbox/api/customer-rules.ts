/** Whether a value fits a field of an update. Written by hand from `docs/interface/reference.md` alone. */
type Rule = (value: unknown) => boolean;

const text: Rule = (value) => typeof value === 'string';
const flag: Rule = (value) => value === true || value === false;
const whole: Rule = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value >= -2_147_483_648 && value <= 2_147_483_647;
const number: Rule = (value) => typeof value === 'number' && Number.isFinite(value);
const uuid: Rule = (value) => typeof value === 'string' && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value);

function code(...codes: number[]): Rule {
  return (value) => typeof value === 'number' && codes.includes(value);
}

/** A day that exists in the calendar. `Date` turns another one into a later day. */
const date: Rule = (value) => {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  const day = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(value);
};

const dateTime: Rule = (value) => {
  if (typeof value !== 'string') return false;
  const [day = '', time = '', ...more] = value.split('T');
  const [, hours, minutes, seconds = '0'] =
    /^(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)$/.exec(time) ?? [];
  return more.length === 0 && date(day) && Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) < 60;
};

/** International format with a leading plus. The document does not define separators. */
const phone: Rule = (value) => {
  if (typeof value !== 'string' || !value.startsWith('+')) return false;
  const digits = value.slice(1).replace(/[ ().-]/g, '');
  return /^\d{7,15}$/.test(digits) && /\d$/.test(value);
};

const customFields: Rule = (value) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.entries(value).every(([name, held]) => name === 'present' && flag(held));

export const CUSTOMER_RULES: Readonly<Record<string, Rule>> = {
  updateRelated: flag,
  idType: code(1, 2, 3, 4, 5, 6),
  idNumber: text,
  idCardIssueDate: date,
  firstName: text,
  shortName: text,
  lastName: text,
  maidenName: text,
  gender: code(1, 2, 3),
  birthDate: date,
  death: flag,
  deathDate: date,
  cellNumber: phone,
  phoneNumber: text,
  phoneNumber2: text,
  phoneNumber3: text,
  faxNumber: text,
  email: text,
  otherEmail: text,
  mailingStatus: code(1, 2, 3, 4),
  street: text,
  streetNumber: text,
  apartmentNumber: text,
  postalBox: whole,
  city: text,
  postalCode: whole,
  country: text,
  maritalStatus: code(1, 2, 3, 4, 5),
  employmentStatus: code(1, 2, 3, 4, 5, 6, 7),
  profession: text,
  usCitizen: flag,
  foreignTaxResidency: flag,
  engFirstName: text,
  engLastName: text,
  engAddress: text,
  kupatHolim: code(1, 2, 3, 4, 5),
  kupatHolimComplementary: code(10, 11, 20, 21, 22, 30, 31, 40, 41),
  height: whole,
  weight: whole,
  smoker: flag,
  cigarettesCountPerDay: whole,
  drugs: text,
  surgeries: text,
  hospitalizations: text,
  backgroundDiseases: text,
  bankAccountType: text,
  bankCode: whole,
  bankBranchCode: whole,
  bankAccountNumber: text,
  classId: uuid,
  sourceId: uuid,
  statusId: uuid,
  notes: text,
  notesAlert: flag,
  monthlyRevenue: number,
  customerServiceContactDate: dateTime,
  customFields,
};

/** Names of unknown and invalid fields. `null` empties a field: the document does not mention it. */
export function fieldsAtFault(update: object): string[] {
  return Object.entries(update).flatMap(([name, value]) => {
    const rule = Object.hasOwn(CUSTOMER_RULES, name) ? CUSTOMER_RULES[name] : undefined;
    if (!rule) return [name];
    const holds = value === null ? name !== 'updateRelated' : rule(value);
    return holds ? [] : [name];
  });
}
