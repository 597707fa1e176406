import { expect, test } from 'vitest';
import { Bounds, MOST } from '../../../cli/probe/conversation/bounds.ts';
import type { FaultInput } from '../../../sandbox/world/fault-schema.ts';
import { servedOnLoopback } from '../../support/loopback.ts';
import { probed, sandboxFor } from './support/probed.ts';

test.each(Object.entries(MOST))('of %s a probe makes no more than %i, whatever it is told', (step, most) => {
  const bounds = new Bounds();
  for (let made = 0; made < most; made += 1) bounds.take(step);

  expect(() => bounds.take(step)).toThrow(`at most ${most} calls of the kind ${step}`);
  expect(() => bounds.take('status')).not.toThrow();
});

const reset: FaultInput['reset'] = 'after';
test.each<[string, FaultInput, number, RegExp]>([
  ['a create that is answered 503', { path: 'create', answer: { status: 503 } }, 1, /^POST .* was answered 503\./],
  ['a create that is answered 401', { path: 'create', answer: { status: 401 } }, 1, /^POST .* was answered 401\./],
  ['a create whose connection breaks', { path: 'create', reset }, 1, /^POST .* got no answer \(/],
  ['a status read that is answered 500', { path: 'status', answer: { status: 500 } }, 2, /^GET .* was answered 500\./],
  ['a status read whose connection breaks', { path: 'status', reset: 'before' }, 2, /^GET .* got no answer \(/],
  ['an export that fails', { path: 'status', status: 'FAILED' }, 2, /^The CRM reports the export as FAILED\./],
  [
    'a request for the file that is refused',
    { path: 'download', answer: { status: 503 } },
    1,
    /download was answered 503\./,
  ],
  ['a file that is refused', { path: 'file', answer: { status: 403 } }, 1, /^The GET of the file was answered 403\./],
  ['a file that breaks off', { path: 'file', hangUp: 20 }, 1, /^The file broke off/],
])('%s is not repeated, and is said', async (_, fault, calls, sentence) => {
  const sandbox = await sandboxFor({ jobChecks: 1 }, [fault]);

  const { ended } = await probed(sandbox, { early: fault.path === 'create', filters: [] });

  // The second status read is of the export that cannot exist.
  expect(sandbox.ledger.count({ kind: fault.path })).toBe(calls);
  expect(ended).toMatchObject({ code: 1, sentence: expect.stringMatching(sentence) });
});

test('a second GET is made only once the first is complete, and of a large file 16 MB are fetched', async () => {
  const sandbox = await sandboxFor({ bytes: 20_000_000, jobChecks: 1 });

  const { of } = await probed(sandbox);

  expect(sandbox.ledger.count({ kind: 'file' })).toBe(1);
  expect(of('file-format')).toMatchObject({ verdict: 'as assumed', what: 'It is csv (its beginning was read).' });
  expect(of('header-texts').verdict).toBe('as assumed');
  expect(of('range-support').verdict).toBe('not seen');
  expect(of('empty-exports').verdict).toBe('not seen');
});

test('no more than one export is made, and no file asked for before it is there, unless somebody wants it', async () => {
  const sandbox = await sandboxFor();

  await probed(sandbox);

  const calls = sandbox.ledger.calls().map(({ kind }) => kind);
  expect(calls.filter((kind) => kind === 'create')).toHaveLength(1);
  expect(calls.filter((kind) => kind === 'download')).toHaveLength(1);
  expect(sandbox.ledger.calls({ kind: 'create' })[0]?.request).toEqual({ columns: ['id'] });
});

test('a column that the configuration leaves out is not requested, and its further keys are', async () => {
  const sandbox = await sandboxFor();
  const leads = { columns: { except: ['ID'] }, extra: { format: 'csv' }, sendEmail: true, filters: [{ field: 'x' }] };

  await probed(sandbox, { configuration: { entities: { leads } } });

  const [create] = sandbox.ledger.calls({ kind: 'create' });
  expect(create?.request).toMatchObject({ format: 'csv' });
  expect(JSON.stringify(create?.request)).not.toMatch(/"id"|sendEmail|filters/);
});

test('a host that is not listed is asked for first, and one that is not public never', async () => {
  const asked: string[] = [];
  const confirmHost = async (host: string) => {
    asked.push(host);
    return true;
  };
  const sandbox = await sandboxFor({ linkHost: 'files.crm.test', jobChecks: 1 });
  const other = await sandboxFor({ linkHost: '10.0.0.1', jobChecks: 1 });

  const declined = await probed(sandbox);
  const confirmed = await probed(sandbox, { confirmHost });
  const bare = await probed(other, { confirmHost });

  expect(asked).toEqual(['files.crm.test']);
  const notNamed = 'Files come from files.crm.test, which crm.fileHosts does not name';
  expect(declined.of('file-host').what).toBe(`${notNamed} (nobody confirmed its host, so no file was fetched).`);
  // The address begins with http:, which no file may.
  expect(confirmed.of('file-host').what).toContain('begins with http: instead of https:');
  expect(bare.of('file-host')).toMatchObject({ verdict: 'otherwise', what: expect.stringContaining('an IP address') });
  expect([sandbox, other].map(({ ledger }) => ledger.count({ kind: 'file' }))).toEqual([0, 0]);
});

test('a pause that the CRM asks for is kept, and a long one ends the probe', async () => {
  const limited = (wait: string): FaultInput => ({
    path: 'fields',
    entity: 'contacts',
    answer: { status: 429, headers: { 'Retry-After': wait } },
  });
  const waits: number[] = [];
  const sleep = async (ms: number) => void waits.push(ms);

  const short = await probed(await sandboxFor({ jobChecks: 1 }, [limited('7')]), { sleep });
  const long = await probed(await sandboxFor({}, [limited('3600')]), { sleep });

  expect(waits).toEqual([7000]);
  expect(short.of('rate-limits')).toMatchObject({ verdict: 'as assumed', what: '429 with Retry-After 7.' });
  expect(long.ended).toMatchObject({ sentence: 'The CRM wants no call for 3600 s (429): probe again after that.' });
});

test('Ctrl-C ends the wait, and what was seen is kept', async () => {
  const interrupt = new AbortController();
  const sleep = async () => {
    interrupt.abort();
    interrupt.signal.throwIfAborted();
  };

  const { ended, of } = await probed(await sandboxFor(), { signal: interrupt.signal, sleep });

  expect(ended).toEqual({ sentence: 'Interrupted: nothing more was asked.', code: 130 });
  expect(of('export-id-field').verdict).toBe('as assumed');
  expect(of('status-words').what).toBe('INITIATED after 0 s.');
});

test('an export that is not there within the deadline is waited for no longer', async () => {
  const sandbox = await sandboxFor({ jobChecks: 1000 });

  const { ended, of } = await probed(sandbox, { deadlineSeconds: 30 });

  expect(ended?.sentence).toMatch(
    /^The export was not PROCESSED within the time of the probe \(--deadline\)\. No file/,
  );
  expect(of('status-words').verdict).toBe('as assumed');
  expect(sandbox.ledger.count({ kind: 'download' })).toBe(0);
});

test('a token that no header can hold is never sent, and in no message', async () => {
  const answered: string[] = [];
  const url = await servedOnLoopback((request, _, response) => {
    answered.push(request.url ?? '');
    response.end();
  });

  const meeting = probed({ baseUrl: `${url}/api/v1` }, { accessToken: 'to\u05d0ken' });

  await expect(meeting).rejects.toThrow(
    'The access token that the CRM issued has a character that no header can hold.',
  );
  expect(answered).toEqual([]);
});
