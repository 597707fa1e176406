import { spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type * as z from 'zod';

/** The loop of the scripts that compare how this reader and one in Python read the files in folders. */

const LARGEST_FILE = 30_000_000;

/** The comparison of a file. `uncounted`: no rows and no table, so readers of tables get nothing wrong. */
export interface Comparison {
  result: 'same' | 'uncounted' | 'different' | 'refused';
  words?: string;
}

interface Read {
  file: string;
  /** Why the script cannot read the file; such files are only counted. */
  error: string | null;
}

interface Job<Of extends Read> {
  python: string;
  /** The name of a script beside this file. It prints a line of JSON for each file that is named on standard input. */
  script: string;
  schema: z.ZodType<Of>;
  /** The names of the files to read in the folders of the command line. */
  names: RegExp;
  compare: (read: Of) => Promise<Comparison>;
}

/** Compares all files, prints those that are not read alike, and counts. */
export async function compareFiles<Of extends Read>(job: Job<Of>): Promise<void> {
  const { python, script, schema, names, compare } = job;
  const files = filesIn(process.argv.slice(2), names);
  const child = spawn(python, ['-I', join(import.meta.dirname, script)], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(files.map((file) => `${file}\n`).join(''));
  const counts = { files: 0, unreadByPython: 0, same: 0, uncounted: 0, different: 0, refused: 0 };
  for await (const line of createInterface({ input: child.stdout })) {
    const read = schema.parse(JSON.parse(line));
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

/** The files below the folders whose names match, sorted within each folder. */
function filesIn(folders: string[], names: RegExp): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((each) => names.test(each))
      .map((each) => join(folder, each))
      .filter((path) => statSync(path).isFile() && statSync(path).size <= LARGEST_FILE)
      .toSorted(),
  );
}
