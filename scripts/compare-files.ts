import { spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The loop that the scripts share which compare this reader with a reader in Python, file by file. */

const LARGEST_FILE = 30_000_000;

/** The comparison of a file. `uncounted`: the file has no count of rows and gets no table, so no reader gets a wrong value. */
export interface Comparison {
  result: 'same' | 'uncounted' | 'different' | 'refused';
  words?: string;
}

/**
 * Compares all files of the folders of the command line. Prints those that are read differently, and the number of files
 * by result.
 * @param script in Python, beside this file: prints a line of JSON for each file named on standard input; with `error`,
 *   it cannot read the file. The variable PYTHON names another interpreter than `python3`.
 */
export async function compareFiles<Read extends { file: string }>(
  script: string,
  names: RegExp,
  compare: (read: Read) => Promise<Comparison>,
): Promise<void> {
  const files = process.argv.slice(2).flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((each) => names.test(each))
      .map((each) => join(folder, each))
      .filter((path) => statSync(path).isFile() && statSync(path).size <= LARGEST_FILE)
      .toSorted(),
  );
  const args = ['-I', join(import.meta.dirname, script)];
  const child = spawn(process.env.PYTHON ?? 'python3', args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(files.map((file) => `${file}\n`).join(''));
  const counts = { files: 0, unreadByPython: 0, same: 0, uncounted: 0, different: 0, refused: 0 };
  for await (const line of createInterface({ input: child.stdout })) {
    const read: Read & { error: string | null } = JSON.parse(line);
    counts.files += 1;
    if (read.error !== null) {
      counts.unreadByPython += 1;
      continue;
    }
    const { result, words = '' } = await compare(read).catch((error: Error): Comparison => {
      return { result: 'refused', words: error.message };
    });
    counts[result] += 1;
    if (result !== 'same') process.stdout.write(`${read.file}: ${result}: ${words.slice(0, 300)}\n`);
  }
  process.stdout.write(`${JSON.stringify(counts)}\n`);
}
