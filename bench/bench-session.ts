import { join } from 'node:path';
import { startRun } from '../cli/runs/executions.ts';
import { followRun } from '../cli/runs/follow.ts';
import { ENTITIES, type Entity } from '../core/config/entities.ts';
import { openRunRecord } from '../local/processes/run-record.ts';
import { openSession, type Session } from '../local/session.ts';
import type { SandboxOptions } from '../sandbox/sandbox-settings.ts';
import type { Kit } from './kit.ts';

/** Runs work with the whole product in its own local cloud, and ends all processes in any case. */
export async function withSession(
  { screen }: Kit,
  sandboxOptions: SandboxOptions,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const record = await openRunRecord(join(import.meta.dirname, '..', '.cache'));
  try {
    const own = { json: false, keep: false, secondNight: false, tables: false, pollSeconds: 1, updates: false };
    const interrupt = new AbortController();
    const session = await openSession(
      { entities: [...ENTITIES], ...own },
      { screen, record, interrupt, sandboxOptions },
    );
    await work(session);
  } finally {
    await record.close();
  }
}

/** Runs the export of an entity. @throws Error unless it succeeds */
export async function runOf({ target }: Session, entity: Entity) {
  const { executionArn } = await startRun(target, entity, {});
  const report = await followRun(target.sfn, executionArn, { everyMs: 200 });
  if (report.status !== 'SUCCEEDED') throw new Error(`${entity}: ${report.error}: ${report.cause}`);
  return { executionArn, seconds: report.seconds };
}
