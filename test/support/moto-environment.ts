import { join } from 'node:path';
import { ensureEnvironment } from '../../local/ministack/python.ts';
import type { RunRecord } from '../../local/processes/run-record.ts';

/** Makes a Python environment with boto3 and moto, which only tests need. @returns its interpreter */
export async function pythonWithMoto(record: RunRecord): Promise<string> {
  const requirements = join(import.meta.dirname, '..', 'requirements.txt');
  const home = await ensureEnvironment({ name: 'moto', requirements, what: 'moto' }, { record });
  return join(home, 'bin', 'python');
}
