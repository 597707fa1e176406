import { join } from 'node:path';
import { expect, test } from 'vitest';
import { textTable } from '../../cli/support/text.ts';
import { fullDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import type { Template } from '../../scripts/template.ts';
import { rightsIn } from './support/template.ts';

/** All policies of a deployment with every option. `test/permissions` shows what they allow and refuse. */

const SCREEN = join(import.meta.dirname, '../screens/rights.txt');
const json = synthesise(fullDeployment());

test('the rights equal the stored table', async () => {
  const columns = ['who', 'effect', 'on', 'actions', 'if', 'policy'];
  await expect(`${textTable(columns, rightsIn(json))}\n`).toMatchFileSnapshot(SCREEN);
});

test('a deployment without options has only rights that the full one has', () => {
  const all = new Set(rightsIn(json).map((row) => row.join(' ')));

  expect(rightsIn(synthesise()).filter((row) => !all.has(row.join(' ')))).toEqual([]);
});

test('without options a function has the same rights, except those of an option', () => {
  const rightsOf = (template: Template) =>
    rightsIn(template)
      .filter(([who = '']) => /^(CreateExport|CheckStatus|DownloadFile|PublishFile|RecordNight|Mail\w+)Role$/.test(who))
      .map((row) => row.join(' '));

  // Tables of an earlier configuration may still be there.
  const ofOption = /(?<!^RecordNight.*)tables|changes|updates|Tagging/i;
  expect(rightsOf(synthesise())).toEqual(rightsOf(json).filter((row) => !ofOption.test(row)));
});
