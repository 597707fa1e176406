import { expect, test } from 'vitest';
import { ENTITIES } from '../../../core/config/entities.ts';
import { createExport, readStatus, requestDownload } from '../../../core/crm/exports.ts';
import { CANARY, EXPORT_ID, OTHER_EXPORT_ID as OTHER } from '../../support/builders.ts';
import { crmAt } from '../../support/crm-at.ts';
import { failureOf } from '../../support/failures.ts';
import { type Reply, serverFor } from '../../support/http-server.ts';
import { expectTexts } from '../../support/screen.ts';

/** Services of .NET return it if there is no id. */
const NO_ID = '00000000-0000-0000-0000-000000000000';

async function crmFor(line: string, reply: Reply) {
  return crmAt((await serverFor([line, reply])).url);
}

const created = async (json: unknown) =>
  createExport(await crmFor('POST /leads/exports', { json }), 'leads', { columns: ['id'] }, {});
const statusAnswer = async (reply: Reply) =>
  readStatus(await crmFor(`GET /leads/exports/${EXPORT_ID}`, reply), 'leads', EXPORT_ID);
const statusFor = async (json: unknown) => (await statusAnswer({ json })).status;
const download = async (reply: Reply) =>
  requestDownload(await crmFor(`POST /leads/exports/${EXPORT_ID}/download`, reply), 'leads', EXPORT_ID);

test.each<[string, unknown]>([
  ['id', { id: EXPORT_ID }],
  ['uuid', { uuid: EXPORT_ID }],
  ['uuid, if id is a number', { id: 7, uuid: EXPORT_ID }],
  ['exportId', { exportId: EXPORT_ID }],
  ['data.id', { data: { id: EXPORT_ID } }],
  ['a bare string', EXPORT_ID],
  ['data.id, if id is the UUID of zeros', { id: NO_ID, data: { id: EXPORT_ID } }],
])('the id of a new export is read from %s', async (_, answer) => {
  expect(await created(answer)).toBe(EXPORT_ID);
});

test.each<[string, unknown, string]>([
  ['an id that is not a UUID', { id: CANARY, name: CANARY }, 'an object with the keys id, name'],
  ['the UUID of zeros', { id: NO_ID }, 'an object with the keys id'],
  ['an array', [EXPORT_ID], 'an array of 1, first a string'],
  ['null', null, 'null'],
])('%s in the answer to create (stage 1) is CrmContractError with the keys of the answer', async (_, answer, shape) => {
  const { message } = await failureOf(created(answer), 'CrmContractError');

  expect(message).toContain(`: ${shape}.`);
  await expectTexts('export-without-id', [['an answer without an id', message.replace(`: ${shape}.`, ': SHAPE.')]]);
});

test.each(ENTITIES)('create, status and download of %s use the paths of the entity', async (entity) => {
  const { url, seen } = await serverFor(
    [`POST /${entity}/exports`, { json: { id: EXPORT_ID } }],
    [`GET /${entity}/exports/${EXPORT_ID}`, { json: { status: 'PROCESSED' } }],
    [`POST /${entity}/exports/${EXPORT_ID}/download`, { json: { url: 'https://files.test/x' } }],
  );
  const crm = crmAt(url);

  await createExport(crm, entity, { columns: ['id'] }, {});
  await readStatus(crm, entity, EXPORT_ID);
  await requestDownload(crm, entity, EXPORT_ID);

  expect(seen.map(({ body }) => body)).toEqual(['{"columns":["id"]}', '', '']);
});

test.each([
  ['INITIATED', 'INITIATED'],
  ['Processing', 'PROCESSING'],
  ['processed', 'PROCESSED'],
  [' FAILED ', 'FAILED'],
])('reads the status %j as %s', async (word, status) => {
  expect(await statusFor({ id: EXPORT_ID, status: word })).toBe(status);
});

test.each<[string, object]>([
  ['under data', { data: { status: 'PROCESSED', id: EXPORT_ID } }],
  ['with its id in capitals', { status: 'PROCESSED', id: EXPORT_ID.toUpperCase() }],
  ['with a field `data` of its own', { id: EXPORT_ID, status: 'PROCESSED', data: { status: 'FAILED', rows: 7 } }],
  ['in an envelope with a status of its own', { status: 'success', data: { status: 'PROCESSED', id: EXPORT_ID } }],
  ['in an envelope with an id of its own', { id: OTHER, status: 'OK', data: { status: 'PROCESSED', id: EXPORT_ID } }],
])('the record of an export is read %s', async (_, record) => {
  expect(await statusFor(record)).toBe('PROCESSED');
});

const QUEUED = '"QUEUED", not one of';
const ANOTHER = 'the record of an export other than';

test.each<[string, unknown, string]>([
  ['an unknown word', { status: 'queued' }, `${QUEUED} INITIATED, PROCESSING, PROCESSED, FAILED`],
  ['data in place of a word', { status: `${CANARY}7` }, 'a word of 14 characters'],
  ['a number', { status: 2 }, '(wrong at status): an object with the keys status'],
  ['no status', { state: 'PROCESSED' }, '(wrong at status): an object with the keys state'],
  ['a bad word next to data', { id: EXPORT_ID, status: 'queued', data: { status: 'PROCESSED' } }, QUEUED],
  // The envelopes have a status and an id of their own.
  ['a bad word in an envelope', { id: OTHER, status: 'success', data: { id: EXPORT_ID, status: 'queued' } }, QUEUED],
  ['another one under data', { data: { exportId: OTHER, status: 'PROCESSED' } }, ANOTHER],
  ['the record of another export', { id: OTHER, status: 'PROCESSED' }, ANOTHER],
])('an answer to status (stage 2) with %s is CrmContractError', async (_, record, message) => {
  expect((await failureOf(statusFor(record), 'CrmContractError')).message).toContain(message);
});

test.each<[string, object]>([
  ['at the top level', { url: 'https://files.test/x?signature=y' }],
  ['under data', { data: { url: 'https://files.test/x?signature=y' } }],
  ['next to data', { url: 'https://files.test/x?signature=y', data: {} }],
  ['under data, next to null', { url: null, data: { url: 'https://files.test/x?signature=y' } }],
])('the link of the file is read %s', async (_, json) => {
  expect(await download({ json })).toBe('https://files.test/x?signature=y');
});

test.each<[string, unknown]>([
  ['a link under another key', { link: CANARY }],
  ['an invalid URL', { url: CANARY }],
  ['an array', [{ url: CANARY }]],
  ['a path', { url: '/files/leads' }],
  ['a list of links', { urls: ['leads.csv'] }],
  ['a string', CANARY],
  ['a link under an unusual key', { signed: `https://files.test/${CANARY}` }],
])('%s in the answer to download (stage 3) is CrmContractError', async (_, json) => {
  await failureOf(download({ json }), 'CrmContractError');
});

test('a good answer to status (stage 2) may set the wait until the next status check', async () => {
  const json = { status: 'PROCESSING' };

  expect(await statusAnswer({ json, headers: { 'retry-after': '7' } })).toEqual({
    status: 'PROCESSING',
    retryAfterSeconds: 7,
  });
});

test.each<[string, unknown]>([
  ['null', { url: null }],
  ['an empty text', { url: '' }],
  ['false', { url: false }],
  ['an empty object', { url: {} }],
  ['the word pending', { data: { url: 'Pending' } }],
  ['words in another language', { url: 'הקובץ בהכנה' }],
  ['n/a', { url: 'N/A' }],
  ['a list of messages', { messages: ['The file is being written.'], urls: [] }],
  ['an empty text as the whole answer', ''],
  ['success false', { success: false, message: CANARY }],
  ['null as the whole answer', null],
  ['records', { data: [{ name: CANARY }] }],
  ['only the record of the export', { id: EXPORT_ID, status: 'PROCESSING' }],
  ['a sentence', { message: 'The file is being written.', ready: false }],
  ['null under another key', { fileUrl: null, success: true }],
  ['an error', { error: { code: 'file_pending', message: CANARY } }],
  ['an error with a link to its explanation', { error: CANARY, help: 'https://docs.example/errors' }],
])('an answer to download (stage 3) with %s in place of the link is ExportNotReady', async (_, json) => {
  const error = await failureOf(download({ json }), 'ExportNotReady');

  expect(error.transient).toBe(true);
  expect(error.message).toMatch(/^POST .* 200 .* export [\da-f-]{36} is PROCESSED: /);
});

test('a good answer with an error shows its code', async () => {
  const limit = { errors: [{ code: 'EXPORT_LIMIT', message: CANARY }] };

  const { message } = await failureOf(created(limit), 'CrmRejectedRequest');
  await expectTexts('export-limit', [['an error in an answer with status 200', message]]);
});

test.each<[string, unknown]>([
  ['an error', { error: { code: 'unknown_column' } }],
  ['success false', { success: false, message: CANARY }],
])('an answer to create (stage 1) with %s and no id is CrmRejectedRequest', async (_, json) => {
  await failureOf(created(json), 'CrmRejectedRequest');
});

test.each<[string, unknown]>([
  ['errors', { id: EXPORT_ID, errors: [{ code: 'unknown_column' }] }],
  ['an error under data', { data: { uuid: EXPORT_ID, errors: { columns: ['x'] } } }],
  ['success false', { success: false, data: EXPORT_ID }],
])('an answer to create (stage 1) with an id and %s is CrmContractError', async (_, json) => {
  await failureOf(created(json), 'CrmContractError');
});

test.each<[string, object]>([
  ['an error code of 0', { error: { code: 0, message: 'OK' } }],
  ['success', { success: true, error: '', errors: {} }],
])('an answer to create (stage 1) with an id and %s is accepted', async (_, more) => {
  expect(await created({ id: EXPORT_ID, ...more })).toBe(EXPORT_ID);
});

test.each([
  { success: false, errors: [{ message: CANARY }] },
  null,
  { data: [] },
  { id: EXPORT_ID, status: null },
  { data: { id: EXPORT_ID, status: ' ' } },
])('%j, answered to status (stage 2), has no status yet and is a transient CrmContractError', async (json) => {
  const error = await failureOf(statusFor(json), 'CrmContractError');

  expect(error.transient).toBe(true);
});
