import { expect, test } from 'vitest';
import { withheldReason } from '../../../core/readers/withheld.ts';
import { deployment } from '../../support/builders.ts';
import { manifestOf } from '../../support/manifests.ts';

const { columns } = deployment().entities.leads;
const plan = { columns: { ...columns, except: ['Identity number'] } };
const headed = (fields: { name: string; label: string | null; type: null }[]) =>
  manifestOf({ fields, file: { header: ['id', 'nationalId'] }, request: { columns: ['id', 'nationalId'] } });
const ID = { name: 'id', label: 'Id', type: null };

test('readers may not have a file in which an entry of columns.except can be the label of any column', () => {
  const file = headed([ID, { name: 'nationalId', label: null, type: null }]);

  expect(withheldReason(file, plan)).toContain('"Identity number"');
  expect(withheldReason(file, { columns })).toBeUndefined();
});

test('a later run shows which column the entry names', () => {
  const labelled = [ID, { name: 'nationalId', label: 'Identity number', type: null }];
  const file = headed([ID, { name: 'nationalId', label: null, type: null }]);

  expect(withheldReason(file, plan, headed(labelled))).not.toContain('entry');
});
