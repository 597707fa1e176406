import { expect, test } from 'vitest';
import { run, runState } from '../../support/builders.ts';
import { clockAt } from '../../support/clock.ts';
import { stoppedBy } from '../../support/manifests.ts';
import { expectScreen } from '../../support/screen.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { begun, leadsNight, stored } from '../support/leads-night.ts';

/** What a person sees of the runs of a night, in 80 columns: published, failed, quarantined and under way. */

const DATE = '2026-11-20';
clockAt(`${DATE}T05:00:00Z`);
const at = (time: string) => `${DATE}T${time}.000Z`;

const leads = leadsNight(1);
const contacts: Execution = {
  ...{ name: 'contacts-night', status: 'FAILED', input: { entity: 'contacts' } },
  ...{ error: 'ExportFailed', cause: 'The CRM reports it as failed.', start: at('01:10:00'), stop: at('01:10:21') },
  entered: [['RunFailed', at('01:10:21'), begun]],
};
const QUARANTINED = [
  'The file of meetings of 2026-11-20 is stored but not published: it has 1 row, 100 are usual (maxShrink 0.5).',
  'Readers keep the last good file. Look at the stopped file: npx --no -- crm-export diff meetings --run meetings-night.',
  'If it is right and can be released: npx --no -- crm-export release meetings-night --reason WHY.',
].join(' ');
const shrunk = { ...stored, input: { entity: 'meetings' } };
const meetings: Execution = {
  ...{ name: 'meetings-night', status: 'FAILED', input: { entity: 'meetings' } },
  ...{ error: 'FileQuarantined', cause: QUARANTINED, start: at('01:20:00'), stop: at('01:25:00') },
  entered: [
    ['PublishFile', at('01:24:00'), shrunk],
    ['RunFailed', at('01:25:00'), { ...shrunk, outcome: 'FAILED' }],
  ],
};
const trouble = { error: 'CrmUnavailable', status: 503, count: 3, deadline: at('07:00:00') };
const waits = runState({
  checks: 2,
  waitSeconds: 60,
  trouble,
  run: run({ entity: 'customers', deadline: at('07:00:00') }),
});
const customers: Execution = {
  ...{ name: 'customers-night', status: 'RUNNING', input: { entity: 'customers' }, start: at('04:58:00') },
  entered: [
    ['CheckStatus', at('04:59:00'), { ...waits, trouble: null }],
    ['WaitBeforeCheck', at('04:59:30'), waits],
  ],
};

const line = (second: number, fields: object) => ({
  timestamp: 1,
  message: JSON.stringify({ level: 'INFO', execution: 'leads-night', timestamp: at(`01:00:0${second}`), ...fields }),
});
const LOGS: Record<string, object[]> = {
  CreateExport: [line(1, { step: 'CreateExport', message: 'created', exportId: 'x', columns: 2 })],
  CheckStatus: [line(3, { level: 'WARN', step: 'CheckStatus', message: 'refused', status: 503, oddities: ['a b'] })],
};

async function cloud() {
  const { name: _, input: __, ...again } = leads;
  const found = await aws(executions([customers, meetings, contacts, leads], { onStart: () => again }), {
    ...{ StopExecution: {}, DescribeRule: { State: 'ENABLED' }, DisableRule: {} },
    FilterLogEvents: ({ input }) => ({ events: LOGS[String(input.logGroupName).split('-').at(-1) ?? ''] ?? [] }),
  });
  const drift = { since: { date: '2026-11-19', execution: 'leads-before' }, removed: [], retyped: [] };
  found.publish({
    manifest: {
      warnings: ['The file has no rows.'],
      drift: { ...drift, added: ['email'], unnamed: 2 },
      guards: { checks: [], comparedWith: [], medianRows: null },
    },
  });
  found.publish({ entity: 'contacts', date: '2026-11-19', execution: 'contacts-before' });
  const before = { entity: 'meetings', date: '2026-11-19', execution: 'meetings-before' } as const;
  found.publish({ ...before, content: 'id,name\n1,a\n2,b\n3,c\n' });
  found.publish({
    ...{ entity: 'meetings', content: 'id,name\n1,a\n2,x\n', pointers: [] },
    manifest: stoppedBy('maxShrink', {
      comparedWith: [{ date: '2026-11-19', execution: 'meetings-before', rows: 100 }],
    }),
  });
  return found;
}

test.each<[screen: string, code: number, command: string]>([
  ['list', 0, 'list'],
  ['show-published', 0, 'show leads-night'],
  ['show-quarantined', 0, 'show meetings-night'],
  ['show-waiting', 0, 'show customers-night'],
  ['follow-failure', 1, 'follow contacts-night'],
  ['logs', 0, 'logs leads-night'],
  ['start', 0, 'start leads contacts'],
  ['start-wait', 0, 'start leads --wait'],
  ['retry', 0, 'retry contacts-night'],
  ['release', 0, 'release meetings-night --reason Holidays'],
  ['stop', 0, 'stop customers-night --yes'],
  ['backfill', 0, 'backfill leads --from 2026-11-18 --to 2026-11-20 --same-data --dry-run'],
  ['pause', 0, 'pause leads'],
  ['resume', 0, 'resume leads'],
  ['plan', 0, 'plan leads --date 2026-03-05 --configuration config/example.json'],
])('prints the screen %s', async (name, code, command) => {
  const result = await expectScreen(name, await cloud(), ...command.split(' '), '--deployment', 'test');

  expect(result.code, result.stderr).toBe(code);
});
