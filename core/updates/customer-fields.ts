import * as z from 'zod';
import * as codes from './customer-codes.ts';

/** What a field holds. One sentence, one quick check and one way to read a CSV cell hang on each kind. */
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
  /** What each listed code means; for `code` only. */
  meanings?: Readonly<Record<number, string>>;
  /** Still accepted, with a warning. */
  deprecated?: true;
}

/** Kind and codes of each field's schema, kept beside the schema so that the field is written down once. */
const rules = z.registry<FieldRule>();

/** A plus, then 7 to 15 digits with spaces, hyphens, dots and brackets between them: it is sent as it stands. */
export const PHONE = /^\+\(?\d(?:[ ().-]*\d){6,14}$/;

/** ISO 8601, seconds optional. An offset is needed: a time without one is another moment for each reader. */
export const DATE_TIME = new RegExp(
  `^(?:${z.regexes.date.source.slice(1, -1)})T(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z|[+-](?:[01]\\d|2[0-3])(?::?[0-5]\\d)?)$`,
);

function field<S extends z.ZodType>(schema: S, description: string, rule: FieldRule) {
  const described = schema.optional().describe(description).meta({ deprecated: rule.deprecated });
  rules.add(described, rule);
  return described;
}

const text = (description: string) => field(z.string(), description, { kind: 'text' });
const flag = (description: string) => field(z.boolean(), description, { kind: 'flag' });
const int32 = (description: string) => field(z.int32(), description, { kind: 'int32' });
const date = (description: string) => field(z.iso.date(), `${description}: YYYY-MM-DD.`, { kind: 'date' });
const uuid = (description: string) => field(z.guid(), description, { kind: 'uuid' });

function code<C extends number>(meanings: Readonly<Record<C, string>>, description: string) {
  const listed = Object.keys(meanings).map(Number) as C[];
  return field(z.literal(listed), `${description}: ${listOf(meanings)}.`, { kind: 'code', meanings });
}

/** `1 not defined, 2 male, 3 female` */
export function listOf(meanings: Readonly<Record<number, string>>): string {
  return Object.entries(meanings)
    .map(([listed, meaning]) => `${listed} ${meaning}`)
    .join(', ');
}

/**
 * The 57 fields that an update of a customer accepts, in the order of section 2.1 of
 * `docs/interface/customer-update-and-record-export.md`. A field that is absent is not touched, a value sets it. `null`, of
 * which the document says nothing, is no value: where the configuration lets it empty a field, `record-check.ts` takes it.
 * Nothing is converted: `"1"` is no code, `"true"` no boolean.
 */
export const customerFieldsSchema = z
  .strictObject({
    updateRelated: flag('Whether related customers are updated too.'),
    idType: code(codes.ID_TYPE_MEANINGS, 'Kind of ID'),
    idNumber: text('ID number.'),
    idCardIssueDate: date('Day on which the ID card was issued'),
    firstName: text('First name.'),
    shortName: text('Short name.'),
    lastName: text('Last name.'),
    maidenName: text('Maiden name.'),
    gender: code(codes.GENDER_MEANINGS, 'Gender'),
    birthDate: date('Day of birth'),
    death: flag('Whether the customer has died.'),
    deathDate: date('Day of death'),
    cellNumber: field(z.string().regex(PHONE), 'Cell phone number, international format with leading +.', {
      kind: 'phone',
    }),
    phoneNumber: text('Phone number.'),
    phoneNumber2: text('Second phone number.'),
    phoneNumber3: text('Third phone number.'),
    faxNumber: text('Fax number.'),
    email: text('E-mail address.'),
    otherEmail: text('Second e-mail address.'),
    mailingStatus: code(codes.MAILING_STATUS_MEANINGS, 'Consent to mailing'),
    street: text('Street name.'),
    streetNumber: text('Street number.'),
    apartmentNumber: text('Apartment number.'),
    postalBox: int32('Postal box number.'),
    city: text('City.'),
    postalCode: int32('Postal code.'),
    country: text('Country.'),
    maritalStatus: code(codes.MARITAL_STATUS_MEANINGS, 'Marital status'),
    employmentStatus: code(codes.EMPLOYMENT_STATUS_MEANINGS, 'Employment status'),
    profession: text('Profession.'),
    usCitizen: flag('Whether the customer is a citizen of the United States.'),
    foreignTaxResidency: flag('Whether the customer is resident for tax in another country.'),
    engFirstName: text('First name in English.'),
    engLastName: text('Last name in English.'),
    engAddress: text('Address in English.'),
    kupatHolim: code(codes.KUPAT_HOLIM_MEANINGS, 'Health fund'),
    kupatHolimComplementary: code(
      codes.KUPAT_HOLIM_COMPLEMENTARY_MEANINGS,
      'Complementary health plan, whose tens digit is its health fund',
    ),
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
    monthlyRevenue: field(z.number(), 'Monthly revenue.', { kind: 'number' }),
    customerServiceContactDate: field(
      z.string().regex(DATE_TIME),
      'Time of contact with the service: YYYY-MM-DDThh:mm:ssZ.',
      {
        kind: 'dateTime',
      },
    ),
    customFields: field(z.strictObject({ present: z.boolean().optional() }), 'Deprecated: accepted with a warning.', {
      kind: 'customFields',
      deprecated: true,
    }),
  })
  .meta({
    title: 'An update of a customer',
    description: 'A field that is absent is not touched, a value sets it. With updates.allowNull, null empties it.',
  });

/** Whether fund and complementary plan, where both are given, belong together: the document groups plans, it forbids nothing. */
export function ofOneFund({ kupatHolim: fund, kupatHolimComplementary: plan }: Record<string, unknown>): boolean {
  return typeof fund !== 'number' || typeof plan !== 'number' || codes.fundOfPlan(plan) === fund;
}

/** Every field with its rule, in the order of the document. */
export const FIELD_RULES: ReadonlyMap<string, FieldRule> = new Map(
  Object.entries(customerFieldsSchema.shape).map(([name, schema]) => {
    const rule = rules.get(schema);
    if (!rule) throw new Error(`The field ${name} has no rule.`);
    return [name, rule];
  }),
);
