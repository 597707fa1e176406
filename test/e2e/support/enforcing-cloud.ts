import { dirname, join } from 'node:path';
import { startMinistack } from '../../../local/ministack/ministack.ts';
import { ensureMinistack } from '../../../local/ministack/python.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';

/** Starts a separate local cloud that enforces rights, without waits of machines. */
export async function startEnforcingCloud() {
  const record = await openRunRecord(join(import.meta.dirname, '../../../.cache'));
  const command = await ensureMinistack({ record });
  const options = { nodeBin: dirname(process.execPath), settings: { SFN_WAIT_SCALE: '0', AUTH: 'true' } };
  const cloud = await startMinistack({ ...command, ...options, record });
  return { ...cloud, close: () => record.close() };
}
