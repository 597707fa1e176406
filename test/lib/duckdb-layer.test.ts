import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fullDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { allOf } from './support/template.ts';

const json = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
const BINDING = 'node_modules/@duckdb/node-bindings-linux-arm64';

test('the layer has the same version and hash of DuckDB as the project', () => {
  const [root, own] = [json('package-lock.json'), json('lib/workflow/duckdb/package-lock.json')];
  const { version, integrity } = own.packages[BINDING];

  expect(Object.keys(own.packages)).toEqual(['', BINDING]);
  expect({ version, integrity }).toEqual({
    version: root.packages[BINDING].version,
    integrity: root.packages[BINDING].integrity,
  });
  expect(json('package.json').dependencies['@duckdb/node-api']).toBe(version);
  expect(json('lib/workflow/duckdb/package.json').optionalDependencies).toEqual(own.packages[''].optionalDependencies);
});

test('only WriteTable and WriteChanges have the layer, and in a local cloud no function has one', () => {
  const layersOf = (local: boolean) =>
    allOf(synthesise(fullDeployment({ local })), 'AWS::Lambda::Function')
      .filter(([, { Properties }]) => Properties.Layers !== undefined)
      .map(([, { Properties }]) => Properties.FunctionName.split('-').at(-1));

  expect(layersOf(false)).toEqual(['WriteTable', 'WriteChanges']);
  expect(layersOf(true)).toEqual([]);
});
