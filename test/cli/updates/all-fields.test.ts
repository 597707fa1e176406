import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { checkUpdates, openUpdateFile } from '../../../cli/updates/update-source.ts';
import { createCrmClient } from '../../../core/crm/crm-client.ts';
import { updateCustomer } from '../../../core/crm/customers.ts';
import { FIELD_RULES, type FieldKind } from '../../../core/updates/customer-fields.ts';
import { isProblem, readUpdates } from '../../../core/updates/read-updates.ts';
import { documentedFields } from '../../../sandbox/api/customer-rules.ts';
import { idAt } from '../../../sandbox/data/records.ts';
import { sandboxFor } from '../../sandbox/client.ts';
import { recordingLog } from '../../support/deps.ts';
import { tempDir } from '../../support/project.ts';
import { expectTexts } from '../../support/screen.ts';

const UUID = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';

/** Texts that real services store. */
const TEXTS = ['דנה', "O'Neil-כהן", '', '*6050', '5א', 'text, "text"', 'a\nb', '—', '00123456', '😀'];

/** A value for each kind of field. @param at the place of the field */
const VALUES: Record<FieldKind, (at: number, codes: number[]) => unknown> = {
  text: (at) => TEXTS[at % TEXTS.length],
  flag: (at) => at % 2 === 0,
  code: (_, codes) => codes.at(-1),
  int32: (at) => at * at - 1500,
  number: () => 12345.67,
  date: () => '1984-02-29',
  dateTime: () => '2026-11-21T10:00+02:00',
  uuid: (at) => (at % 2 === 0 ? UUID : UUID.toUpperCase()),
  phone: () => '+972 (50) 123-45.67',
  customFields: () => ({}),
};
const EVERYTHING = Object.fromEntries(
  [...FIELD_RULES].map(([name, [kind, , meanings = {}]], at) => [
    name,
    VALUES[kind](at, Object.keys(meanings).map(Number)),
  ]),
);

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
  await expectTexts('update-warnings', [['all fields', said.mock.calls.map(([text]) => text).join('')]]);
});
