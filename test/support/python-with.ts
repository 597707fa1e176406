import { join } from 'node:path';
import { ensureEnvironment } from '../../local/ministack/python.ts';
import { openRunRecord } from '../../local/processes/run-record.ts';
import { CACHE, PROJECT } from './project.ts';

/** Makes a Python environment, which only tests need. @param folder below test/, with requirements.txt. @returns its interpreter */
export async function pythonWith(name: 'copies' | 'moto' | 'pandas' | 'workbooks', folder: string): Promise<string> {
  const record = await openRunRecord(CACHE);
  try {
    const requirements = join(PROJECT, 'test', folder, 'requirements.txt');
    return join(await ensureEnvironment({ name, requirements, what: name }, { record }), 'bin', 'python');
  } finally {
    await record.close();
  }
}
