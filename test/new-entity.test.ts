import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ENTITIES } from '../core/config/entities.ts';

/** A file that names nearly all entities is a list of them. */
const SIGN_OF_A_LIST = ENTITIES.length - 1;
/** The source of the list: the document of the CRM. */
const ORIGIN = 'docs/interface/reference.md';

function namesIn(file: string): number {
  const text = readFileSync(file, 'utf8').replace(/<!-- (\S+):begin -->.*?<!-- \1:end -->/gs, '');
  return ENTITIES.filter((entity) => new RegExp(`(?<![\\w-])${entity}(?![\\w-])`).test(text)).length;
}

test('docs/new-entity.md names every file with a list of entities', () => {
  const [, places = ''] = readFileSync('docs/new-entity.md', 'utf8').split('\n## Places\n');
  const named = [...places.matchAll(/^\d+\. `([^`]+)`/gm)].slice(0, 3).map(([, file]) => file);
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' });
  const lists = files
    .trimEnd()
    .split('\n')
    .filter((file) => /\.(ts|json|md)$/.test(file) && existsSync(file) && namesIn(file) >= SIGN_OF_A_LIST)
    .filter((file) => file !== ORIGIN && !/^test\/|^config\/|schemas?\b.*json$|^docs\/first-day.md$/.test(file));
  expect(lists).toEqual(named);
});

test('the reference of the interface names the entities in their order', () => {
  const [, names = ''] = /^`\{entity\}` is (.*)\. Every /ms.exec(readFileSync(ORIGIN, 'utf8')) ?? [];
  expect([...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).toEqual([...ENTITIES]);
});
