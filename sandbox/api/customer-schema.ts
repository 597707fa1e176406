import { z } from 'zod';

const text = z.string().nullish();
const flag = z.boolean().nullish();
const whole = z.int32().nullish();
const date = z.iso.date().nullish();
const uuid = z.guid().nullish();

function code(...codes: [number, ...number[]]) {
  return z.literal(codes).nullish();
}

/** The 57 fields that an update of a customer accepts, in the order of section 2.1 of the interface document. */
export const customerUpdateSchema = z.strictObject({
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
  cellNumber: z.e164().nullish(),
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
  monthlyRevenue: z.number().nullish(),
  customerServiceContactDate: z.iso.datetime({ offset: true }).nullish(),
  /** Deprecated in the document, still accepted. */
  customFields: z.strictObject({ present: z.boolean().optional() }).nullish(),
});
