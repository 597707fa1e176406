import { expect, test, vi } from 'vitest';
import type { ProbeDeps } from '../../../cli/probe/conversation/converse.ts';
import { isObservable, OPEN_POINTS } from '../../../cli/probe/open-points/open-points.ts';
import { notMet, type Probed } from '../../../cli/probe/probe.ts';
import { report } from '../../../cli/probe/report.ts';
import { idAt } from '../../../sandbox/data/records.ts';
import { DIALECTS, type Dialect } from '../../../sandbox/dialects.ts';
import type { LedgerCall } from '../../../sandbox/world/ledger.ts';
import { deployment } from '../../support/builders.ts';
import { grantedBy, probed, sandboxFor } from './support/probed.ts';

/** In every cell of a record, every error and every link of the sandbox. */
const CANARY = 'c4n4ry';
const HIDDEN = OPEN_POINTS.filter((row) => !isObservable(row)).map(({ id }) => String(id));
/** What a person types for the change. */
const VALUE = 'Kiryat Tivon';
const SCOPES = ['openid', 'profile', 'global:export', 'customers:update'];
const CONFIGURATION = { crm: { scopes: SCOPES } };
/** All that a probe can be told to do: it sees what it can. */
const EVERYTHING: Partial<ProbeDeps> = {
  early: true,
  filters: [{ field: 'id', operator: 'contains', value: idAt('leads', 0) }],
  change: { customer: idAt('customers', 0), fields: { city: VALUE } },
};

/** Meets a CRM of that dialect; whoever sleeps lets its clock go on. Without a token there is no meeting. */
async function meet({ settings, faults = [] }: Dialect) {
  const sandbox = await sandboxFor({ canary: CANARY, ...settings }, faults);
  const granted = await grantedBy(sandbox, CONFIGURATION);
  sandbox.ledger.clear();
  if ('refused' in granted)
    return { ...notMet(granted.grant, SCOPES, granted.refused), accessToken: 'there is none', calls: [] };
  let slept = 0;
  const { sightings, conversation, ended } = await probed(sandbox, {
    ...EVERYTHING,
    ...granted,
    configuration: CONFIGURATION,
    elapsed: () => performance.now() + slept,
    sleep: async (ms) => {
      slept += ms;
      sandbox.clock.advance(ms / 1000);
    },
  });
  return { sightings, conversation, ended, accessToken: granted.accessToken, calls: sandbox.ledger.calls() };
}

/** What the command prints for a person and for a program, which is also what it saves. */
async function outputOf(result: Probed): Promise<string> {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const code = process.exitCode;
  const met = { deployment: deployment(CONFIGURATION), before: undefined, savesIn: undefined };
  const ends: string[] = [];
  for (const options of [{ all: true }, { json: true }])
    await report(result, met, options).catch((error: unknown) => ends.push(String(error)));
  process.exitCode = code;
  const printed = write.mock.calls.map(([chunk]) => String(chunk)).join('');
  expect(printed).toContain('open points: ');
  return `${printed}${ends.join('\n')}${JSON.stringify(result)}`;
}

function expectBounds(calls: LedgerCall[]): void {
  const count = (kind: LedgerCall['kind']) => calls.filter((call) => call.kind === kind).length;
  expect(count('create')).toBeLessThanOrEqual(3);
  expect(count('download')).toBeLessThanOrEqual(4);
  expect(count('file')).toBeLessThanOrEqual(4);
  expect(count('update')).toBeLessThanOrEqual(1);
  // An export may have the id of one before: what is asked of it is another call.
  const exports = (end: LedgerCall) => calls.filter(({ kind, seq }) => kind === 'create' && seq < end.seq).length;
  const nameOf = (call: LedgerCall) => JSON.stringify([call.method, call.path, call.request, exports(call)]);
  const failed = calls.filter(({ status }) => status === null || status >= 400);
  const repeated = failed.flatMap((one) => calls.filter((each) => each.seq > one.seq && nameOf(each) === nameOf(one)));
  expect(repeated).toEqual([]);
}

test.each(DIALECTS)('$name: every contradiction that can be seen is named, and none is invented', async (dialect) => {
  const { accessToken, calls, ...result } = await meet(dialect);
  const { sightings } = result;

  const idsOf = (wanted: string) => sightings.filter(({ verdict }) => verdict === wanted).map(({ id }) => String(id));
  expect(idsOf('otherwise').toSorted(), JSON.stringify(sightings, undefined, 1)).toEqual(dialect.otherwise.toSorted());
  expect(idsOf('as assumed').filter((id) => HIDDEN.includes(id))).toEqual([]);
  expectBounds(calls);
  expect(calls.filter(({ violation }) => violation)).toEqual([]);
  const output = await outputOf(result);
  for (const secret of [CANARY, VALUE, accessToken]) expect(output).not.toContain(secret);
});

test('every point that can be seen is otherwise in a dialect, and no other point is', () => {
  const observable = OPEN_POINTS.filter(isObservable).map(({ id }) => id);

  expect([...new Set(DIALECTS.flatMap(({ otherwise }) => otherwise))].toSorted()).toEqual(observable.toSorted());
});
