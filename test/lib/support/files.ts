import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

/** A directory with these files, removed when the test ends. */
export function tree(files: Record<string, string | Uint8Array>): string {
  const root = temporary();
  onTestFinished(() => remove(root));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return root;
}

/** An empty directory for all tests of a group, removed after the last one. */
export function folderForAll(): string {
  const root = temporary();
  afterAll(() => remove(root));
  return root;
}

function temporary(): string {
  return mkdtempSync(join(tmpdir(), 'lib-test-'));
}

function remove(root: string): void {
  rmSync(root, { recursive: true, force: true });
}
