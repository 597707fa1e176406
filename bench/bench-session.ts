import { join } from 'node:path';
import { ENTITIES } from '../core/config/entities.ts';
import { endLeftovers, openRunRecord, type RunRecord } from '../local/processes/run-record.ts';
import { openSession, type Session } from '../local/session.ts';
import type { SandboxOptions } from '../sandbox/sandbox-settings.ts';
import type { Kit } from './kit.ts';

/** Runs work with a record of the processes that it starts, and ends them in any case. */
async function withRecord(work: (record: RunRecord) => Promise<void>): Promise<void> {
  const cacheDir = join(import.meta.dirname, '..', '.cache');
  await endLeftovers(cacheDir);
  const record = await openRunRecord(cacheDir);
  try {
    await work(record);
  } finally {
    await record.close();
  }
}

/** Runs work with the whole product in its own local cloud. */
export async function withSession(
  { json, screen }: Kit,
  sandboxOptions: SandboxOptions,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  await withRecord(async (record) => {
    const own = { keep: false, secondNight: false, tables: false, pollSeconds: 1, updates: false };
    const interrupt = new AbortController();
    const session = await openSession(
      { entities: [...ENTITIES], json, ...own },
      { screen, record, interrupt, sandboxOptions },
    );
    await work(session);
    await session.close();
  });
}
