import { join } from 'node:path';
import { createScreen, type Screen } from '../../cli/runs/screen.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import { endLeftovers, openRunRecord, type RunRecord } from '../../local/processes/run-record.ts';
import { openSession, type Session } from '../../local/session.ts';
import type { SandboxOptions } from '../../sandbox/world/settings.ts';

/** Does some work with the whole product in a local cloud of its own, and ends that cloud whatever comes of it. */
export async function withSession(
  json: boolean,
  sandboxOptions: SandboxOptions,
  work: (bench: { session: Session; screen: Screen; record: RunRecord }) => Promise<void>,
): Promise<void> {
  const cacheDir = join(import.meta.dirname, '..', '..', '.cache');
  const screen = createScreen(process.stderr);
  await endLeftovers(cacheDir);
  const record = await openRunRecord(cacheDir);
  try {
    const options = {
      entities: [...ENTITIES],
      keep: false,
      json,
      secondNight: false,
      tables: false,
      pollSeconds: 1,
      updates: false,
    };
    const { signal } = new AbortController();
    const session = await openSession(options, { screen, record, signal, sandboxOptions });
    await work({ session, screen, record });
    await session.close();
  } finally {
    await record.close();
  }
}
