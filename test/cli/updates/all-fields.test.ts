import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { checkUpdates, openUpdateFile } from '../../../cli/updates/update-source.ts';
import { createCrmClient } from '../../../core/crm/crm-client.ts';
import { updateCustomer } from '../../../core/crm/customers.ts';
import { isProblem, readUpdates } from '../../../core/updates/read-updates.ts';
import { documentedFields } from '../../../sandbox/api/customer-rules.ts';
import { idAt } from '../../../sandbox/data/records.ts';
import { sandboxFor } from '../../sandbox/client.ts';
import { recordingLog } from '../../support/deps.ts';
import { tempDir } from '../../support/project.ts';

const UUID = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';

/** A value for each of the 57 fields, in forms that real services store. */
const EVERYTHING = {
  updateRelated: false,
  idType: 1,
  idNumber: '012345678',
  idCardIssueDate: '2015-06-30',
  firstName: 'דנה',
  shortName: 'D.',
  lastName: "O'Neil-כהן",
  maidenName: '',
  gender: 3,
  birthDate: '1984-02-29',
  death: false,
  deathDate: '2026-01-01',
  cellNumber: '+972 (50) 123-45.67',
  phoneNumber: '03-1234567',
  phoneNumber2: '*6050',
  phoneNumber3: '',
  faxNumber: '03-7654321',
  email: 'dana@example.com',
  otherEmail: 'x@example.com',
  mailingStatus: 4,
  street: 'הרצל',
  streetNumber: '5א',
  apartmentNumber: '12',
  postalBox: 0,
  city: 'חיפה',
  postalCode: 3200003,
  country: 'ישראל',
  maritalStatus: 5,
  employmentStatus: 7,
  profession: 'text, "text"',
  usCitizen: false,
  foreignTaxResidency: true,
  engFirstName: 'Dana',
  engLastName: 'Cohen',
  engAddress: 'Haifa',
  kupatHolim: 5,
  kupatHolimComplementary: 10,
  height: 172,
  weight: 68,
  smoker: true,
  cigarettesCountPerDay: 5,
  drugs: 'none',
  surgeries: 'a\nb',
  hospitalizations: '',
  backgroundDiseases: '—',
  bankAccountType: 'CHECKING',
  bankCode: 10,
  bankBranchCode: 936,
  bankAccountNumber: '00123456',
  classId: UUID,
  sourceId: UUID,
  statusId: UUID.toUpperCase(),
  notes: '😀',
  notesAlert: true,
  monthlyRevenue: 12345.67,
  customerServiceContactDate: '2026-11-21T10:00+02:00',
  customFields: {},
};

test('an update with all 57 fields goes unchanged from the file to the CRM', async () => {
  const sandbox = await sandboxFor();
  const file = join(await tempDir(), 'all.jsonl');
  await writeFile(file, `${JSON.stringify({ id: idAt('customers', 3), ...EVERYTHING })}\n`);
  const source = await openUpdateFile(file);
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => said.mockRestore());
  await checkUpdates(source);
  const { accessToken } = sandbox.issueTokens();
  const getAccessToken = async () => ({ accessToken, scope: 'customers:update' });
  const now = () => new Date();
  const crm = createCrmClient({ baseUrl: sandbox.baseUrl, getAccessToken, log: recordingLog(), now });

  const answers = [];
  for await (const entry of readUpdates(source.reader, source.open())) {
    if (isProblem(entry)) throw new Error(`line ${entry.line}: ${entry.field} ${entry.sentence}`);
    const { id, ...fields } = entry.record;
    expect(fields).toEqual(EVERYTHING);
    answers.push(await updateCustomer(crm, id, fields));
  }

  expect(answers).toEqual([{ status: 200, outcome: 'done', error: undefined }]);
  const [call] = sandbox.ledger.calls({ kind: 'update' });
  expect(call).toMatchObject({ applied: true, fieldNames: documentedFields().map(({ name }) => name) });
  expect(said.mock.calls.map(([text]) => text)).toEqual([
    expect.stringContaining('"customFields" is deprecated; 1 record'),
    expect.stringContaining(
      '"kupatHolimComplementary" is a plan of a different fund than the one in kupatHolim; 1 record',
    ),
  ]);
});
