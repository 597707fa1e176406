import * as z from 'zod';

/** The type of a field. It decides the message for a wrong value, and how a CSV cell is read. */
export type FieldKind =
  | 'text'
  | 'flag'
  | 'code'
  | 'int32'
  | 'number'
  | 'date'
  | 'dateTime'
  | 'uuid'
  | 'phone'
  | 'customFields';

export interface FieldRule {
  kind: FieldKind;
  /** The meaning of each listed code; only for `code`. */
  meanings?: Readonly<Record<number, string>>;
  /** The field is still accepted, with a warning. */
  deprecated?: true;
}

/** The rule of each field's schema. */
const rules = z.registry<FieldRule>();

/** `+` and 7 to 15 digits, which spaces, hyphens, dots and brackets may separate. The text is sent unchanged. */
const PHONE = /^\+\(?\d(?:[ ().-]*\d){6,14}$/;

/** ISO 8601, seconds optional. An offset is required: a time without one depends on the reader's time zone. */
const DATE_TIME = new RegExp(
  `^(?:${z.regexes.date.source.slice(1, -1)})T(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z|[+-](?:[01]\\d|2[0-3])(?::?[0-5]\\d)?)$`,
);

function field<S extends z.ZodType>(
  schema: S,
  description: string,
  kind: FieldKind,
  rule: Omit<FieldRule, 'kind'> = {},
) {
  const described = schema.optional().describe(description).meta({ deprecated: rule.deprecated });
  rules.add(described, { kind, ...rule });
  return described;
}

const text = (description: string) => field(z.string(), description, 'text');
const flag = (description: string) => field(z.boolean(), description, 'flag');
const int32 = (description: string) => field(z.int32(), description, 'int32');
const date = (description: string) => field(z.iso.date(), `${description}: YYYY-MM-DD.`, 'date');
const uuid = (description: string) => field(z.guid(), description, 'uuid');

function code<C extends number>(description: string, meanings: Readonly<Record<C, string>>) {
  const listed = Object.keys(meanings).map(Number) as C[];
  return field(z.literal(listed), `${description}: ${listOf(meanings)}.`, 'code', { meanings });
}

/** Lists codes with their meanings: `1 not defined, 2 male, 3 female`. */
export function listOf(meanings: Readonly<Record<number, string>>): string {
  return Object.entries(meanings)
    .map(([listed, meaning]) => `${listed} ${meaning}`)
    .join(', ');
}

/**
 * The fields of an update, in the order of `docs/interface/reference.md`. Values are not converted: `"1"` is not the
 * code 1. The schema refuses `null`. `update-line.ts` accepts it if the configuration allows updates to empty fields.
 */
export const customerFieldsSchema = z
  .strictObject({
    updateRelated: flag('Whether related customers are updated too.'),
    idType: code('Kind of ID', {
      1: 'national ID',
      2: 'passport',
      3: 'driving licence',
      4: 'other',
      5: 'company registration number',
      6: 'public-institution registration number',
    }),
    idNumber: text('ID number.'),
    idCardIssueDate: date('Day on which the ID card was issued'),
    firstName: text('First name.'),
    shortName: text('Short name.'),
    lastName: text('Last name.'),
    maidenName: text('Maiden name.'),
    gender: code('Gender', { 1: 'not defined', 2: 'male', 3: 'female' }),
    birthDate: date('Day of birth'),
    death: flag('Whether the customer has died.'),
    deathDate: date('Day of death'),
    cellNumber: field(z.string().regex(PHONE), 'Cell phone number, international format with leading +.', 'phone'),
    phoneNumber: text('Phone number.'),
    phoneNumber2: text('Second phone number.'),
    phoneNumber3: text('Third phone number.'),
    faxNumber: text('Fax number.'),
    email: text('E-mail address.'),
    otherEmail: text('Second e-mail address.'),
    mailingStatus: code('Consent to mailing', {
      1: 'mailing approved',
      2: 'mailing not approved',
      3: 'removed from mailing',
      4: 'approval not requested',
    }),
    street: text('Street name.'),
    streetNumber: text('Street number.'),
    apartmentNumber: text('Apartment number.'),
    postalBox: int32('Postal box number.'),
    city: text('City.'),
    postalCode: int32('Postal code.'),
    country: text('Country.'),
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
    profession: text('Profession.'),
    usCitizen: flag('Whether the customer is a citizen of the United States.'),
    foreignTaxResidency: flag('Whether the customer is resident for tax in another country.'),
    engFirstName: text('First name in English.'),
    engLastName: text('Last name in English.'),
    engAddress: text('Address in English.'),
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
    height: int32('Centimetres.'),
    weight: int32('Kilograms.'),
    smoker: flag('Whether the customer smokes.'),
    cigarettesCountPerDay: int32('Cigarettes per day.'),
    drugs: text('Drugs taken, free text.'),
    surgeries: text('Surgeries, free text.'),
    hospitalizations: text('Stays in hospital, free text.'),
    backgroundDiseases: text('Background diseases, free text.'),
    bankAccountType: text('Kind of bank account, a word such as CHECKING; the document does not list them all.'),
    bankCode: int32('Bank code.'),
    bankBranchCode: int32('Bank branch code.'),
    bankAccountNumber: text('Bank account number.'),
    classId: uuid('Identifier of the customer class.'),
    sourceId: uuid('Identifier of the customer source.'),
    statusId: uuid('Identifier of the customer status.'),
    notes: text('Notes, free text.'),
    notesAlert: flag('Whether the notes alert.'),
    monthlyRevenue: field(z.number(), 'Monthly revenue.', 'number'),
    customerServiceContactDate: field(
      z.string().regex(DATE_TIME),
      'Time of contact with the service: YYYY-MM-DDThh:mm:ssZ.',
      'dateTime',
    ),
    customFields: field(
      z.strictObject({ present: z.boolean().optional() }),
      'Deprecated: accepted with a warning.',
      'customFields',
      { deprecated: true },
    ),
  })
  .meta({
    title: 'An update of a customer',
    description: 'A field that is absent is not touched, a value sets it. With updates.allowNull, null empties it.',
  });

/** Whether fund and complementary plan belong together. The interface document groups plans, but forbids no pair. */
export function ofOneFund({ kupatHolim: fund, kupatHolimComplementary: plan }: Record<string, unknown>): boolean {
  return typeof fund !== 'number' || typeof plan !== 'number' || Math.floor(plan / 10) === fund;
}

/** Every field with its rule, in the order of the interface document. */
export const FIELD_RULES: ReadonlyMap<string, FieldRule> = new Map(
  Object.entries(customerFieldsSchema.shape).map(([name, schema]) => {
    const rule = rules.get(schema);
    if (!rule) throw new Error(`The field ${name} has no rule.`);
    return [name, rule];
  }),
);
