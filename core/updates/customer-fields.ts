import * as z from 'zod';

/** `+` and 7 to 15 digits, which spaces, hyphens, dots and brackets may separate. The text is sent unchanged. */
const PHONE = /^\+\(?\d(?:[ ().-]*\d){6,14}$/;

/** ISO 8601, seconds optional. An offset is required: a time without one depends on the reader's time zone. */
const DATE_TIME = new RegExp(
  `^(?:${z.regexes.date.source.slice(1, -1)})T(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z|[+-](?:[01]\\d|2[0-3])(?::?[0-5]\\d)?)$`,
);

/** The types of fields: the schema, and the end of a sentence about a wrong value. A code has a schema of its own. */
export const KINDS = {
  text: [z.string(), 'must be text'],
  flag: [z.boolean(), 'must be true or false, in lower case'],
  code: [z.int(), 'must be one of the codes'],
  int32: [z.int32(), 'must be a whole number from -2147483648 to 2147483647'],
  number: [z.number(), 'must be a number'],
  date: [z.iso.date(), 'must be a date that exists, written YYYY-MM-DD'],
  dateTime: [
    z.string().regex(DATE_TIME),
    'must be a date and time that exist, with Z or an offset, written YYYY-MM-DDThh:mm:ssZ; seconds may be left out',
  ],
  uuid: [z.guid(), 'must be a UUID'],
  phone: [
    z.string().regex(PHONE),
    'must be a phone number in international format: a leading + and 7 to 15 digits, with nothing but spaces, hyphens, dots and brackets between them',
  ],
  customFields: [
    z.strictObject({ present: z.boolean().optional() }),
    'must be an object whose only property, if any, is the boolean "present"',
  ],
} as const;
export type FieldKind = keyof typeof KINDS;

/** Type, description and, of a code, the meaning of each listed value. */
type Field = readonly [kind: FieldKind, description: string, meanings?: Meanings];
type Meanings = Readonly<Record<number, string>>;

const code = (description: string, meanings: Meanings): Field => ['code', description, meanings];

/** The fields of an update, in the order of `docs/interface/reference.md`. */
const FIELDS: Record<string, Field> = {
  updateRelated: ['flag', 'Whether related customers are updated too.'],
  idType: code('Kind of ID', {
    1: 'national ID',
    2: 'passport',
    3: 'driving licence',
    4: 'other',
    5: 'company registration number',
    6: 'public-institution registration number',
  }),
  idNumber: ['text', 'ID number.'],
  idCardIssueDate: ['date', 'Day on which the ID card was issued: YYYY-MM-DD.'],
  firstName: ['text', 'First name.'],
  shortName: ['text', 'Short name.'],
  lastName: ['text', 'Last name.'],
  maidenName: ['text', 'Maiden name.'],
  gender: code('Gender', { 1: 'not defined', 2: 'male', 3: 'female' }),
  birthDate: ['date', 'Day of birth: YYYY-MM-DD.'],
  death: ['flag', 'Whether the customer has died.'],
  deathDate: ['date', 'Day of death: YYYY-MM-DD.'],
  cellNumber: ['phone', 'Cell phone number, international format with leading +.'],
  phoneNumber: ['text', 'Phone number.'],
  phoneNumber2: ['text', 'Second phone number.'],
  phoneNumber3: ['text', 'Third phone number.'],
  faxNumber: ['text', 'Fax number.'],
  email: ['text', 'E-mail address.'],
  otherEmail: ['text', 'Second e-mail address.'],
  mailingStatus: code('Consent to mailing', {
    1: 'mailing approved',
    2: 'mailing not approved',
    3: 'removed from mailing',
    4: 'approval not requested',
  }),
  street: ['text', 'Street name.'],
  streetNumber: ['text', 'Street number.'],
  apartmentNumber: ['text', 'Apartment number.'],
  postalBox: ['int32', 'Postal box number.'],
  city: ['text', 'City.'],
  postalCode: ['int32', 'Postal code.'],
  country: ['text', 'Country.'],
  maritalStatus: code('Marital status', { 1: 'single', 2: 'married', 3: 'divorced', 4: 'widowed', 5: 'cohabiting' }),
  employmentStatus: code('Employment status', {
    1: 'employee',
    2: 'self-employed',
    3: 'employee and self-employed',
    4: 'employee who is a controlling owner',
    5: 'not employed',
    6: 'controlling-owner employee and self-employed',
    7: 'pensioner',
  }),
  profession: ['text', 'Profession.'],
  usCitizen: ['flag', 'Whether the customer is a citizen of the United States.'],
  foreignTaxResidency: ['flag', 'Whether the customer is resident for tax in another country.'],
  engFirstName: ['text', 'First name in English.'],
  engLastName: ['text', 'Last name in English.'],
  engAddress: ['text', 'Address in English.'],
  kupatHolim: code('Health fund', { 1: 'fund 1', 2: 'fund 2', 3: 'fund 3', 4: 'fund 4', 5: 'fund 5' }),
  kupatHolimComplementary: code('Complementary health plan, whose tens digit is its health fund', {
    10: 'of fund 1',
    11: 'of fund 1',
    20: 'of fund 2',
    21: 'of fund 2',
    22: 'of fund 2',
    30: 'of fund 3',
    31: 'of fund 3',
    40: 'of fund 4',
    41: 'of fund 4',
  }),
  height: ['int32', 'Centimetres.'],
  weight: ['int32', 'Kilograms.'],
  smoker: ['flag', 'Whether the customer smokes.'],
  cigarettesCountPerDay: ['int32', 'Cigarettes per day.'],
  drugs: ['text', 'Drugs taken, free text.'],
  surgeries: ['text', 'Surgeries, free text.'],
  hospitalizations: ['text', 'Stays in hospital, free text.'],
  backgroundDiseases: ['text', 'Background diseases, free text.'],
  bankAccountType: ['text', 'Kind of bank account, a word such as CHECKING; the document does not list them all.'],
  bankCode: ['int32', 'Bank code.'],
  bankBranchCode: ['int32', 'Bank branch code.'],
  bankAccountNumber: ['text', 'Bank account number.'],
  classId: ['uuid', 'Identifier of the customer class.'],
  sourceId: ['uuid', 'Identifier of the customer source.'],
  statusId: ['uuid', 'Identifier of the customer status.'],
  notes: ['text', 'Notes, free text.'],
  notesAlert: ['flag', 'Whether the notes are shown as an alert.'],
  monthlyRevenue: ['number', 'Monthly revenue.'],
  customerServiceContactDate: ['dateTime', 'Time of contact with the service: YYYY-MM-DDThh:mm:ssZ.'],
  customFields: ['customFields', 'Deprecated: accepted with a warning.'],
};

/** Every field with its type. */
export const FIELD_RULES: ReadonlyMap<string, Field> = new Map(Object.entries(FIELDS));

/** Lists codes with their meanings: `1 not defined, 2 male, 3 female`. */
export function listOf(meanings: Meanings): string {
  return Object.entries(meanings)
    .map(([listed, meaning]) => `${listed} ${meaning}`)
    .join(', ');
}

function schemaOf([kind, description, meanings]: Field) {
  const schema = meanings ? z.literal(Object.keys(meanings).map(Number)) : KINDS[kind][0];
  const described = schema.optional().describe(meanings ? `${description}: ${listOf(meanings)}.` : description);
  return kind === 'customFields' ? described.meta({ deprecated: true }) : described;
}

/**
 * The schema of an update. Values are not converted: `"1"` is not the code 1. It refuses `null`, which `update-line.ts`
 * accepts if the configuration allows updates to empty fields.
 */
export const customerFieldsSchema = z.strictObject(
  Object.fromEntries(Object.entries(FIELDS).map(([name, field]) => [name, schemaOf(field)])),
);

/** Whether fund and complementary plan belong together. The interface document groups plans, but forbids no pair. */
export function ofOneFund({ kupatHolim: fund, kupatHolimComplementary: plan }: Record<string, unknown>): boolean {
  return typeof fund !== 'number' || typeof plan !== 'number' || Math.floor(plan / 10) === fund;
}
