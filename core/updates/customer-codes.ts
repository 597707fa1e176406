/**
 * The codes of section 2.1 of `docs/interface/customer-update-and-record-export.md`, by name, and what the document says
 * that each means. A test reads the document and compares.
 */

export const ID_TYPE = {
  nationalId: 1,
  passport: 2,
  drivingLicence: 3,
  other: 4,
  companyRegistration: 5,
  publicInstitutionRegistration: 6,
} as const;

export const GENDER = { notDefined: 1, male: 2, female: 3 } as const;

export const MAILING_STATUS = { approved: 1, notApproved: 2, removed: 3, approvalNotRequested: 4 } as const;

export const MARITAL_STATUS = { single: 1, married: 2, divorced: 3, widowed: 4, cohabiting: 5 } as const;

export const EMPLOYMENT_STATUS = {
  employee: 1,
  selfEmployed: 2,
  employeeAndSelfEmployed: 3,
  controllingOwnerEmployee: 4,
  notEmployed: 5,
  controllingOwnerEmployeeAndSelfEmployed: 6,
  pensioner: 7,
} as const;

/** Health funds. The document gives the codes without names. */
export const KUPAT_HOLIM = { fund1: 1, fund2: 2, fund3: 3, fund4: 4, fund5: 5 } as const;

/** Complementary plans: the tens digit is the fund (`fundOfPlan`). Fund 5 has none. */
export const KUPAT_HOLIM_COMPLEMENTARY = {
  fund1Plan10: 10,
  fund1Plan11: 11,
  fund2Plan20: 20,
  fund2Plan21: 21,
  fund2Plan22: 22,
  fund3Plan30: 30,
  fund3Plan31: 31,
  fund4Plan40: 40,
  fund4Plan41: 41,
} as const;

type Codes = Readonly<Record<string, number>>;
type CodeOf<C extends Codes> = C[keyof C];
type Meanings<C extends Codes> = Readonly<Record<CodeOf<C>, string>>;

export const ID_TYPE_MEANINGS: Meanings<typeof ID_TYPE> = {
  1: 'national ID',
  2: 'passport',
  3: 'driving licence',
  4: 'other',
  5: 'company registration number',
  6: 'public-institution registration number',
};

export const GENDER_MEANINGS: Meanings<typeof GENDER> = { 1: 'not defined', 2: 'male', 3: 'female' };

export const MAILING_STATUS_MEANINGS: Meanings<typeof MAILING_STATUS> = {
  1: 'mailing approved',
  2: 'mailing not approved',
  3: 'removed from mailing',
  4: 'approval not requested',
};

export const MARITAL_STATUS_MEANINGS: Meanings<typeof MARITAL_STATUS> = {
  1: 'single',
  2: 'married',
  3: 'divorced',
  4: 'widowed',
  5: 'cohabiting',
};

export const EMPLOYMENT_STATUS_MEANINGS: Meanings<typeof EMPLOYMENT_STATUS> = {
  1: 'employee',
  2: 'self-employed',
  3: 'employee and self-employed',
  4: 'employee who is a controlling owner',
  5: 'not employed',
  6: 'controlling-owner employee and self-employed',
  7: 'pensioner',
};

export const KUPAT_HOLIM_MEANINGS: Meanings<typeof KUPAT_HOLIM> = {
  1: 'fund 1',
  2: 'fund 2',
  3: 'fund 3',
  4: 'fund 4',
  5: 'fund 5',
};

export const KUPAT_HOLIM_COMPLEMENTARY_MEANINGS: Meanings<typeof KUPAT_HOLIM_COMPLEMENTARY> = {
  10: 'of fund 1',
  11: 'of fund 1',
  20: 'of fund 2',
  21: 'of fund 2',
  22: 'of fund 2',
  30: 'of fund 3',
  31: 'of fund 3',
  40: 'of fund 4',
  41: 'of fund 4',
};

/** The health fund (`KUPAT_HOLIM`) that a complementary plan belongs to. */
export function fundOfPlan(plan: number): number {
  return Math.floor(plan / 10);
}
