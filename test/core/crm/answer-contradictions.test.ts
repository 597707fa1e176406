import fc from 'fast-check';
import { expect, test } from 'vitest';
import { judgeBody } from '../../../core/crm/answer-contradictions.ts';
import { customerFieldsSchema } from '../../../core/updates/customer-fields.ts';

const ID = '0b2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e10';
const OTHER = '7c2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e99';

const contradicts = (body: unknown, fields: Record<string, unknown> = {}) =>
  judgeBody(body, { id: ID, fields }).contradiction !== undefined;
const isOther = (field: string, sent: unknown, echoed: unknown) => contradicts({ [field]: echoed }, { [field]: sent });
/** One row for each answer, of a field and the value sent for it. */
const eachAnswer = (rows: [field: string, sent: unknown, ...answers: unknown[]][]) =>
  rows.flatMap(([field, sent, ...answers]) => answers.map((answer) => [field, sent, answer] as const));

test.each<[string, unknown]>([
  ['success false', { success: false }],
  ['0 as a text', { data: { success: '0' } }],
  ['an error object', { error: { code: 17 } }],
  ['an error three wrappers deep', { response: { data: { customer: { id: ID, error: 'x' } } } }],
  ['the id of another record', { id: OTHER }],
  ['the id of another record in capitals', { data: { Id: OTHER.toUpperCase() } }],
  ['the id of another beside data about the answer', { meta: { took: 3 }, _links: {}, client: { id: OTHER } }],
  ['another id in braces, as Microsoft writes it', { id: `{${OTHER.toUpperCase()}}` }],
  ['another id as a URN', { data: { id: `urn:uuid:${OTHER}` } }],
  ['ok false', { ok: false }],
  ['a failure status as a number', { type: 'about:blank', title: 'x', status: 422 }],
  ['a failure status as a text', { statusCode: '400', message: 'x' }],
  ['an error message without an error', { errorMessage: 'x' }],
  ['the id of another record as customerId', { success: true, customerId: OTHER }],
  ['an error with the prefix of OData', { 'odata.error': { code: 'x' } }],
  ['an exception', { message: 'x', exceptionMessage: 'x' }],
  ['the outcome rejected', { outcome: 'Rejected' }],
  ['a count of failures', { updated: 0, failed: 1 }],
  ['an error number with its message', { errorCode: 17, errorMessage: 'x' }],
  ['an error in an answer that is named after the user', { user: { errors: ['x'] } }],
  ['the failure of one record, as Zoho writes it', { data: [{ code: 'INVALID_DATA', details: {}, status: 'error' }] }],
  ['the status failed in a wrapper', { result: { status: 'FAILED', reason: 'x' } }],
  ['a failure in a text that is JSON', { statusCode: 200, body: '{"success":false}' }],
  ['the id of another in a text that is JSON', { payload: JSON.stringify({ data: [{ id: OTHER }] }) }],
  ['an error in a text under d, as ASP.NET writes it', { d: '{"error":"x"}' }],
  [
    'user errors, as GraphQL writes them',
    { data: { customerUpdate: { customer: null, userErrors: [{ message: 'x' }] } } },
  ],
  ['user errors beside the record', { data: { update: { customer: { id: ID }, userErrors: [{ message: 'x' }] } } }],
  ['the result false', { result: false }],
  ['the status false', { status: false, message: 'x' }],
  ['isOk false', { isOk: false }],
  ['a return code of failure', { returnCode: 'FAIL', returnMsg: 'x' }],
  ['a response status of failure', { responseStatus: 'Error' }],
  ['the errors of HAL, as amoCRM writes them', { _embedded: { items: [], errors: { update: { 7: 'x' } } } }],
  ['N for a success', { success: 'N' }],
  ['the Hebrew word for no', { success: 'לא' }],
  ['the status KO', { status: 'KO' }],
  ['the result denied', { result: 'Denied' }],
  ['a count of rejected records', { accepted: 0, rejected: 1 }],
  ['a count of failed records in a wrapper', { data: { totalCount: 1, successCount: 0, failureCount: 1 } }],
  ...['exception', 'invalid', 'nok', 'refused', 'unauthorized'].map((status): [string, unknown] => [
    `the status ${status}`,
    { status },
  ]),
  ['a code of the server', { code: 500, message: 'x' }],
  ['a fault of SOAP', { 'soap:Fault': { faultstring: 'x' } }],
  ['succeeded false', { succeeded: false }],
  [
    'a problem document in a wrapper',
    { body: { type: 'about:blank', title: 'x', status: 422, detail: 'x', path: '/' } },
  ],
  ['counts in a wrapper', { data: { hint: 'x', time: 1, total: 1, failed: 1 } }],
  ['a result in a wrapper', { response: { result: 'error', reason: 'x' } }],
  ['a failure in a body that is a JSON text in JSON', '{"success":false}'],
  ['an error beside the caller', { session: {}, user: {}, outcome: { errors: ['x'] } }],
  ['another value beside a text that is JSON', { person: { id: OTHER }, log: '{}' }],
  ['a failed success', { success: 'failed' }],
  ['isSucceeded false', { result: { isSucceeded: false } }],
  ['the status unsuccessful', { status: 'Unsuccessful' }],
  ['an error code beside the status 200', { error_code: 'ColumnValueException', status_code: 200, error_message: 'x' }],
  ['success false beside no record', { meta: { success: false }, data: null }],
  ['errors in a header', { header: { errors: ['x'], requestId: OTHER }, body: {} }],
  ['success false in a status beside the record', { Status: { IsSuccess: false, Code: 17 }, Data: { Id: ID } }],
  ['a status 400 beside the record', { meta: { status: 400 }, data: { id: ID } }],
  ['a result with isError', { result: { isError: true } }],
  ['an exception', { hasException: true }],
  ['an error in an unusual wrapper', { request: { id: OTHER }, outcome: { errors: ['x'] } }],
  ['an error in one of two unusual wrappers', { account: { plan: 'x' }, outcome: { errors: ['x'] } }],
  ['the id of another record in a list alone', { clients: [{ id: OTHER }] }],
  ['the id of another record in a list beside a success', { success: true, rows: [{ id: OTHER }] }],
  ['the ids of other records in a list alone', { clients: [{ id: OTHER }, { id: OTHER }] }],
  ['the id of another record beside the user', { client: { id: OTHER }, user: { name: 'x' } }],
  ['an error in the status of a customer', { customerId: ID, status: { error: 'x' } }],
  ['success false in a list of an unusual name', { account: {}, outcomes: [{ id: 7, success: false }] }],
])('%s contradicts a change', (_, body) => {
  expect(contradicts(body)).toBe(true);
});

test.each<[string, unknown]>([
  ['success', { success: true, error: null, errors: [] }],
  ['empty errors', { errors: [null, '', {}, []], error: { code: 0, message: ' ' } }],
  ['errors that say there is none', { error: 'none', errors: '[]', data: { error: { code: '0', message: 'OK' } } }],
  ['an envelope with an id of its own', { id: OTHER, data: { id: ID } }],
  ['related customers, one of whom failed', { data: [{ id: ID }, { id: OTHER, error: 'x' }] }],
  ['an error four wrappers deep', { a: { b: { c: { d: { error: 'x' } } } } }],
  ['a key that says there are no errors', { noErrors: true }],
  ['keys that every object inherits', JSON.parse('{"id":7,"__proto__":{"error":"x"},"constructor":{"success":false}}')],
  ['objects that have no text', { success: { toString: 0 }, status: { toString: 0 }, code: { valueOf: 0 } }],
  ['errors that say in other words that there is none', { error: { code: 200, message: 'Completed successfully.' } }],
  ['0 as an error code with a sentence', { errcode: '00000', errmsg: 'The operation succeeded' }],
  ['0 as the number of an error', { ErrorNumber: 0, ErrorText: 'x' }],
  ['an error text that says there is none, in Hebrew', { errorMessage: 'אין שגיאות', isError: 'N' }],
  ['an error text that says so in English', { errorMessage: 'No errors found', errorDescription: 'Done' }],
  ['the status of a customer', { customerNumber: 7, status: 'Rejected lead' }],
  ['a success with the address of a list of errors', { status: 'success', errorsUrl: '/errors' }],
  ['the record before the change alone', { success: true, previous: { id: OTHER, city: 'x' } }],
  ['the author of the change alone', { success: true, updatedBy: { id: OTHER } }],
  ['related records in HAL', { _links: { self: {} }, _embedded: { agent: { id: OTHER, city: 'x' } } }],
  ['related records in JSON:API', { meta: {}, included: [{ id: OTHER, type: 'agents' }] }],
  ['the request alone', { ok: true, trace: { id: OTHER } }],
  ['an id and a success in a header', { header: { id: OTHER, code: 0, statusId: OTHER }, body: { id: ID } }],
  ['a customer whose status is an object', { id: ID, status: { code: 404, error: 'x' } }],
  ['a code in an object of the customer', { customerId: ID, meta: { code: 404 } }],
  [
    'a code in an object of the customer in a wrapper',
    { data: { customerNumber: 7, agent: {}, status: { code: 404 } } },
  ],
  ['a word as an error code beside a success', { success: true, errorCode: 'Updated' }],
  ['an error code that says success beside the status 200', { status: 200, errorCode: 'SUCCESS_UPDATED' }],
  ['an error code that is only a number', { success: true, errorCode: 'E1000' }],
  ['the answer alone', { meta: { id: OTHER } }],
  ['links alone', { _links: { id: OTHER } }],
  ['a header alone', { header: { id: OTHER } }],
  ...[{ code: 'OK' }, { status: 201 }, { ok: true }, { isSuccess: true }, { errno: 0 }, { status: 'successful' }].map(
    (done): [string, unknown] => [`${JSON.stringify(done)} with a text`, { ...done, errorText: 'x' }],
  ),
  ...['customerId', 'exportId', 'uuid'].map((key): [string, unknown] => [
    `a record with ${key}`,
    { [key]: ID, status: 'failed' },
  ]),
  ['a customer whose own fields are words of a failure', { id: ID, status: 'failed', code: 404 }],
  ['the status of a customer in a wrapper', { data: { customerNumber: 7, status: 'failed' } }],
  ['an error of an earlier day in the record', { id: ID, lastError: 'x', syncErrors: ['x'] }],
  ['no failed records', { numberRecordsProcessed: 1, numberRecordsFailed: 0, numErrors: 0, rejected: 0 }],
  ['the status of a customer that begins like a failure', { customerNumber: 7, status: 'Refused by underwriter' }],
  ['0 errors', { errors: '0 errors' }],
  ...['NO_ERROR', 'No-error', 'n/a', 'nil', 'null', 'undefined', 'Success', 'false', 'done', 'אין', '{}'].map(
    (error): [string, unknown] => [`the error ${error}`, { error }],
  ),
])('%s does not contradict a change', (_, body) => {
  expect(contradicts(body)).toBe(false);
});

test.each([{ items: [{ type: 'policy', status: 'rejected' }] }, { result: { status: 'failed', details: null } }])(
  'an object inside of a record that repeats what was sent does not contradict the change: %j',
  (inside) => {
    for (const body of [{ id: ID, city: 'x', ...inside }, { data: { city: 'x', ...inside } }])
      expect(contradicts(body, { city: 'x' })).toBe(false);
  },
);

test.each(
  eachAnswer([
    ['city', 'Haifa', 'Tel Aviv'],
    ['email', 'cohen@example.com', 'dana.cohen@example.com'],
    ['streetNumber', '12', '1'],
    ['gender', 3, 2],
    ['death', true, false],
    ['monthlyRevenue', 1000.5, 1000],
    ['cellNumber', '+972521234567', ''],
    [
      'birthDate',
      '1990-01-02',
      ...['1990-01-01T00:00:00Z', '1/3/1990 12:00:00 AM', '19900103', '1990-01-03 12:00 AM', '1990-01-03 00:00 GMT'],
      ...['\u200e3. 1. 1990', '3 January 1990', '1990-01-05+02:00', '/Date(631324800000)/'],
      ...['Wed Jan 03 1990 00:00:00 GMT+0200 (Israel Standard Time)', '19900103 00:00'],
    ],
    [
      'customerServiceContactDate',
      '2026-11-20T10:00:00Z',
      ...['2026-11-20T10:00:02Z', '2026-11-22T10:00:00', '2026-11-20 09:00:00+00:00', '20/11/2025 10:00', '2026-10-19'],
      ...['20261120T110000Z', 'Fri, 20 Nov 2026 11:00:00 GMT', '2026-11-20 11:00:00 UTC', '2026-11-20 10:00:00-02'],
      '2026-11-20T10:00:00+02:00[Asia/Jerusalem]',
    ],
    ['customerServiceContactDate', '2026-11-20T10:00:00+02', '2026-11-20T10:00:00Z'],
    ['email', 'a@b.com', 'x-a@b.com', 'xa@b.com', '1a@b.com'],
    ['notes', 'paid', 'not paid yet', 'unpaid', '2paid'],
    ['notes', 'moved', 'a note --- and another'],
    ['surgeries', 'knee, 2024', 'N/A'],
    ['bankAccountNumber', '12345678', '9999'],
    ['phoneNumber', '03-1234567', '23'],
    ['notes', 'age <5 and up', 'age 5', 'not masked'],
    ['country', 'IL', 'US'],
    ['bankAccountType', 'CHECKING', 'SAVINGS'],
  ]),
)('%s: for the sent value %j, the answer %j is a contradiction', (field, sent, echoed) => {
  expect(isOther(field, sent, echoed)).toBe(true);
  const spelled = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  expect(contradicts({ data: { [spelled]: echoed } }, { [field]: sent })).toBe(true);
});

test.each(
  eachAnswer([
    ['city', 'Haifa', ' haifa ', null, 4000, '4000', 'Haifa (4000)', '\uff28\uff41\uff49\uff46\uff41'],
    ['firstName', 'דנה', '\u200fדנה', '\ufffd\ufffd\ufffd'],
    ['firstName', 'Dana', 'Ms. Dana'],
    ['notes', 'a long text that is cut', 'a long text'],
    ['idNumber', '012345678', '12345678', '01234567-8', '-----5678'],
    ['apartmentNumber', '0', '00'],
    ['street', 'Ann', 'Anna Ann'],
    ['bankAccountNumber', '123456789', '*****6789'],
    [
      'email',
      'dana@example.com',
      ...['d••••@example.com', '<hidden>', '[מוסתר]', 'mailto:dana@example.com', 'Dana <dana@example.com>'],
    ],
    ['lastName', "O'Brien", 'O&#39;Brien', 'O\u2019Brien'],
    ['firstName', 'ד"ר', 'ד\u05f4ר'],
    ['city', 'Tel-Aviv', 'Tel\u2013Aviv'],
    [
      'notes',
      '"x" and y',
      '\u201cx\u201d and y',
      '<em>"x"</em> <i>and</i> y',
      '<SPAN>"x"</SPAN> <strong>and</strong> y',
    ],
    ['firstName', "ג'ורג'", 'ג\u05f3ורג\u05f3'],
    [
      'lastName',
      'Cohen',
      '\uff0a\uff0a\uff0a',
      'C\u25a0\u25a0\u25a0',
      'XXXXX',
      '##',
      'Hidden',
      'masked',
      'null',
      'redacted',
      '(hidden)',
      '[not_shown]',
      '{{hidden}}',
    ],
    ['bankAccountNumber', '12345678', '12-345/678', '5678'],
    ['city', 'Haifa', 'Hai'],
    ['idNumber', '12345', 'ID-12345'],
    ['phoneNumber', '03-1234567', '03-1234567 ext. 5'],
    ['phoneNumber', '03-1234567 x5', '031234567'],
    ['phoneNumber', '03-1234567 שלוחה 12', '03-1234567'],
    ['phoneNumber', '+1 212 555 0199', '(212) 555-0199;ext=7'],
    ['notes', 'call back', '<p>Call back</p>'],
    ['notes', 'line 1\nline 2', '<div dir="rtl">line 1<br/>line 2</div>'],
    ['notes', '<b>call</b> back', 'call back'],
    ['street', 'Herzl Boulevard', 'Her...', 'Herzl Bou\u2026'],
    ['gender', 2, 'male', '2'],
    ['monthlyRevenue', 1234.567, 1234.57],
    ['cellNumber', '+972 52-123-4567', '052-1234567'],
    ['faxNumber', '03 123 4567', null, '+972 (3) 1234567'],
    ['phoneNumber', '+972 52-123-4567', '+972 53-123-4567'],
    [
      'birthDate',
      '1990-01-02',
      ...['1990-01-02T00:00:00Z', '1990-01-01T22:00:00Z', '02/01/1990', '1/2/1990', '2 Jan 1990', '2 בינואר 1990'],
      ...['02/01/90', '19900102', '02011990', '1/2/1990 12:00:00 AM', '01/01/1990 22:00', '1990-01-02T00:00:00+02:00'],
      ...['5 Tevet 5750', 'on file', '/Date(631231200000+0200)/'],
      ...['Tue Jan 02 1990 00:00:00 GMT+0200 (Israel Standard Time)', '1990-01-02+02:00'],
    ],
    ['birthDate', '1990-10-17', '1990-17-10'],
    [
      'customerServiceContactDate',
      '2026-11-20T10:00:00Z',
      ...['2026-11-20T12:00:00.000+02:00', '2026-11-20T12:00:00', '2026-11-20 12:00:00+0200', '20.11.2026 12:00'],
      ...['2026-11-20', '20261120T1200+0200', '2026-11-20T12:00:00+02:00[Asia/Jerusalem]'],
    ],
    ['customerServiceContactDate', '2026-11-20T10:00:59Z', '2026-11-20T10:00Z'],
    ['birthDate', '2008-05-25', '25-MAY-08'],
    ['classId', ID, 'Private customers', ID.toUpperCase(), `{${ID.toUpperCase()}}`, ID.replaceAll('-', '')],
    ['country', 'IL', 'Israel', 'ISR', 'ISRAEL'],
    ['country', 'Israel', 'ישראל'],
    ['bankAccountType', 'CHECKING', 'Checking account', 'Current'],
    ['country', 'UNITED_STATES', 'United States of America', 'USA'],
  ]),
)('%s: for the sent value %j, the answer %j is no contradiction', (field, sent, echoed) => {
  expect(isOther(field, sent, echoed)).toBe(false);
});

test.each<[string, unknown]>([
  ['the fields of the record', { id: ID, fields: { city: 'Tel Aviv' } }],
  ['the properties of the record', { id: ID, properties: { city: 'Tel Aviv' } }],
  ['the values of the record', { id: ID, values: { city: 'Tel Aviv' } }],
  ['the values after the change', { before: { city: 'Haifa' }, after: { city: 'Tel Aviv' } }],
])('%s have another value than was sent', (_, body) => {
  expect(contradicts(body, { city: 'Haifa' })).toBe(true);
});

test('an error beside the record counts, although the record has the sent value', () => {
  expect(contradicts({ meta: { statusId: OTHER }, data: { id: ID } }, { statusId: ID })).toBe(false);
  expect(contradicts({ data: { classId: { id: OTHER, name: 'x' } } }, { classId: OTHER })).toBe(false);
  expect(contradicts({ data: { classId: { error: 'x' } } }, { classId: OTHER })).toBe(true);
  expect(contradicts({ classId: { id: OTHER }, data: { success: false } }, { classId: OTHER })).toBe(true);
  expect(contradicts({ success: true, relatedCustomers: [{ id: OTHER }] }, { updateRelated: true })).toBe(false);
  expect(contradicts({ city: 'Haifa', data: { error: 'x' } }, { city: 'Haifa' })).toBe(true);
  expect(contradicts({ city: 'Haifa', results: [{ city: 'Eilat' }] }, { city: 'Haifa' })).toBe(false);
});

test.each<[unknown, boolean]>([
  [{ error: 'invalid', fields: { city: 'unknown' } }, true],
  [{ errors: ['invalid'], details: { city: 'unknown' } }, true],
  [{ error: 'partial', outcome: { id: ID } }, false],
  [{ error: 'partial', values: { city: ' HAIFA' } }, false],
  [{ error: 'partial', contact: { id: ID }, warnings: { street: 'unknown' } }, false],
  [{ error: 'partial', user: { city: 'Haifa' } }, false],
  [{ person: { error: 'partial', city: 'Tel Aviv' } }, false],
  [{ error: { id: 7, message: 'invalid' } }, true],
  ...'attributes body customer customers item payload record records response result'
    .split(' ')
    .map((key): [unknown, boolean] => [{ error: 'partial', [key]: { name: 'Dana' } }, false]),
  [{ result: { error: 'invalid', statusCode: 400, traceId: 'x' } }, true],
  [{ data: [{ error: 'invalid', error_description: 'no', details: [{ field: 'city' }], hint: 'x' }] }, true],
  [{ result: { error: 'partial', code: 17, name: 'Dana' } }, false],
  [{ response: { result: { data: { error: 'invalid' } } } }, true],
  [{ error: 'invalid', data: { success: false, error: 'invalid', message: 'no' } }, true],
  [{ client: { id: ID, city: 'Haifa' }, validation: { errors: ['x'] } }, false],
])('the reasons of an error by field are no record, which %j shows (a plain refusal: %s)', (body, isRefusal) => {
  expect(judgeBody(body, { id: ID, fields: { city: 'Haifa' } }).isRefusal).toBe(isRefusal);
});

test.each<[unknown, object]>([
  [
    { city: 'Tel Aviv', errors: ['partial'] },
    { contradiction: expect.anything(), isRefusal: false },
  ],
  [{ customerNumber: 7, city: 'Tel Aviv', status: 'Rejected' }, { contradiction: undefined }],
  [{ id: OTHER, city: 'Tel Aviv' }, { contradiction: undefined }],
])('a record is recognised even if its id and values are not compared: %j', (body, judged) => {
  expect(judgeBody(body, { id: ID, fields: { city: 'Haifa' }, isCompared: false })).toMatchObject(judged);
});

test.each([
  { success: true, oldValues: { city: 'Tel Aviv' } },
  { data: { before: { city: 'Tel Aviv' } } },
  { history: [{ city: 'Tel Aviv' }] },
  { original: { city: 'Tel Aviv' } },
])('the record before the change may have another value than was sent: %j', (body) => {
  expect(contradicts(body, { city: 'Haifa' })).toBe(false);
});

test('an answer that repeats the sent values does not contradict them, for any fields', () => {
  const names = Object.keys(customerFieldsSchema.shape);
  const value = fc.oneof(fc.string(), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null));
  const fields = fc.dictionary(fc.constantFrom(...names), value);
  fc.assert(
    fc.property(fields, (sent) => {
      expect(contradicts({ id: ID, ...JSON.parse(JSON.stringify(sent)) }, sent)).toBe(false);
    }),
  );
});

test('judgeBody accepts a body that is 3,000 levels deep or has 500,000 objects', () => {
  const deep = JSON.parse(`${'{"error":'.repeat(3000)}7${'}'.repeat(3000)}`);
  expect(judgeBody(deep)).toMatchObject({ isRefusal: true });
  expect(judgeBody(Array(500_000).fill({}))).toMatchObject({ isRefusal: false });
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`key ${at}`, {}]));
  expect(judgeBody(many)).toMatchObject({ isRefusal: false });
});

test.each(['T', ' ', ',', '1', '-', '\u200e'])('reads a million of %j in place of a date in linear time', (sign) => {
  const long = sign.repeat(1_000_000);
  expect(isOther('birthDate', '1990-01-02', `x${long}x`)).toBe(false);
  expect(isOther('customerServiceContactDate', '2026-11-20T10:00:00Z', `x${long}x`)).toBe(false);
});

test.each(['1', '1a', '1 a', ' ', ';'])('reads a telephone number of a million of %j in linear time', (part) => {
  expect(isOther('phoneNumber', '12', `1234567${part.repeat(1_000_000)}\n12`)).toBeTypeOf('boolean');
});
