import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Deployed, deployForTests } from '../e2e/support/deployed.ts';
import { type Entry, runbookEntries } from '../support/runbook.ts';
import { type Operator, operatorOf } from './support/operator.ts';
import { CASES, type Case, ENTITY, FED, MAX_BYTES } from './support/runbook-cases.ts';

/**
 * Runs the commands of each runbook entry in the local cloud, after the entry's fault. CI runs one entry of each kind.
 */

const IN_CI = [
  'ExportFailed',
  'ReauthorizationRequired',
  'InvalidInput',
  'NightIncomplete',
  'FileRejected',
  'ChangesStopped',
];
const entries = new Map(runbookEntries().map((entry) => [entry.id, entry]));
let system: Deployed;

beforeAll(async () => {
  system = await deployForTests('runbook', {
    polling: { firstWaitSeconds: 1, largestWaitSeconds: 1, deadlineSeconds: 45, createAgainSeconds: 1 },
    files: { maxBytes: MAX_BYTES },
    // The feed, and not the gate, must catch a file that has shrunk.
    entities: { [FED]: { tables: {}, changes: { key: 'id' }, guards: { maxShrink: 1 } } },
  });
});

afterAll(() => system?.close());

beforeEach(async () => {
  system.sandbox.faults.clear();
  await system.authorize();
});

/** Runs the commands under "Look": they show the fault, and may report it by their exit code. */
async function runCommands(operator: Operator, { id, commands }: Entry, error: string | null): Promise<void> {
  for (const { command } of commands.filter(({ label }) => label === 'Look')) {
    const { code, stdout, stderr } = await operator.type(command);
    expect([0, 1, 2, 3], `${command}\n${stdout}${stderr}`).toContain(code);
    expect(stdout, command).not.toBe('');
    if (error && / show | list --failed /.test(command)) expect(stdout, command).toContain(error);
    if (id === 'NightIncomplete') expect(stdout, command).toMatch(new RegExp(`${ENTITY} .*paused`));
    if (id === 'NoPublishedExport' && / doctor /.test(command)) expect(stdout, command).toContain(`resume ${ENTITY} `);
  }
}

async function mendAndReplay(operator: Operator, { commands }: Entry): Promise<void> {
  for (const { label, command } of commands.filter(({ label }) => label !== 'Look')) {
    const { code, stdout, stderr } = await operator.type(command);
    expect(code, `${label}: ${command}\n${stdout}${stderr}`).toBe(0);
  }
}

describe.each(CASES.filter(({ entry }) => !process.env.CI || IN_CI.includes(entry)))('$entry', (given: Case) => {
  it('the commands of the entry show, fix, verify and replay the fault', async () => {
    const entry = entries.get(given.entry);
    if (!entry) throw new Error(`The runbook has no entry ${given.entry}.`);
    const expected = given.error === undefined ? given.entry : given.error;

    const report = await given.fault(system);
    expect(report.error, report.cause ?? '').toBe(expected);
    const { entity = ENTITY } = given;
    const operator = operatorOf(system, { ENTITY: entity, RUN: report.run });
    await runCommands(operator, entry, expected);
    system.sandbox.faults.clear();
    await given.mend?.(system);
    await mendAndReplay(operator, entry);

    expect(await system.run(entity)).toMatchObject({ status: 'SUCCEEDED' });
  });
});
