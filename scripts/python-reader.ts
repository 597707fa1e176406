import { spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The files of the scripts that compare this reader with one in Python. */

/** The files below the folders whose names match, sorted within each folder. */
export function filesIn(folders: readonly string[], name: RegExp, largest = Number.POSITIVE_INFINITY): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((each) => name.test(each))
      .map((each) => join(folder, each))
      .filter((path) => statSync(path).isFile() && statSync(path).size <= largest)
      .toSorted(),
  );
}

/** What a script beside this file prints for each of the files: one document of JSON. */
export async function* readByPython(python: string, script: string, files: string[]): AsyncGenerator<unknown> {
  const child = spawn(python, ['-I', join(import.meta.dirname, script)], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(files.map((file) => `${file}\n`).join(''));
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line);
}
