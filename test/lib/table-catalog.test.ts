import { join } from 'node:path';
import { Stack } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { describe, expect, test } from 'vitest';
import type { TableSettings } from '../../core/config/table-settings.ts';
import { dateProblem } from '../../core/export/valid-date.ts';
import { tableKey } from '../../core/table/stored-table.ts';
import { TableCatalog } from '../../lib/resources/table-catalog.ts';
import { exampleDeployment } from '../../scripts/deployments.ts';
import { newApp } from '../../scripts/synthesise.ts';
import { resolved } from '../../scripts/template.ts';
import { openDuckDb, putTable } from '../core/table/support.ts';
import { tempDir } from '../support/project.ts';
import { tree } from './support/files.ts';
import { allOf } from './support/template.ts';

const NAMES = 'id,Score,premium,sum,active,birthDate,paid on,createdAt,idNumber,notes,date'.split(',');
const SETTINGS = {
  columns: {
    Score: 'integer',
    premium: 'double',
    sum: { type: 'decimal', precision: 18, scale: 2 },
    active: 'boolean',
    birthDate: 'date',
    'paid on': { type: 'date', format: 'DD/MM/YYYY' },
    createdAt: 'timestamp',
  },
  hash: ['idNumber'],
  except: ['notes'],
} satisfies Partial<TableSettings>;

function catalogOf(entities: Record<string, unknown>) {
  const stack = new Stack(newApp(tree({})), 'crm-export-of-the-south');
  const bucket = new Bucket(stack, 'Exports');
  new TableCatalog(stack, 'TableCatalog', {
    deployment: exampleDeployment({ entities }),
    bucket,
  });
  const template = Template.fromStack(stack).toJSON() as Parameters<typeof allOf>[0];
  const [databases, tables] = ['AWS::Glue::Database', 'AWS::Glue::Table'].map((type) =>
    allOf(template, type).map(([, { Properties }]) => Properties),
  );
  return { stack, databases: databases ?? [], tables: tables?.map(({ TableInput }) => TableInput) ?? [] };
}

function columnsOf(leads: unknown): Record<string, string> {
  const [table] = catalogOf({ leads }).tables;
  const columns: { Name: string; Type: string }[] = table.StorageDescriptor.Columns;
  return Object.fromEntries(columns.map(({ Name, Type }) => [Name, Type]));
}

describe('the catalog', () => {
  test('has a database, and a table for each entity with tables, in names that Athena supports', () => {
    const tables = { columns: { id: 'text' } };
    const catalog = catalogOf({ leads: { tables }, 'agent-numbers': { tables }, contacts: {} });

    expect(catalog.databases.map(({ DatabaseInput }) => DatabaseInput.Name)).toEqual(['crm_export_of_the_south']);
    expect(catalog.tables.map(({ Name }) => Name).toSorted()).toEqual(['agent_numbers', 'leads']);
  });

  test('has the names and types of the columns in a file of the table', async () => {
    const dir = await tempDir();
    await putTable(join(dir, 'leads.parquet'), { content: `${NAMES}\n`, settings: SETTINGS, hashKey: 'key' });
    const duckdb = await openDuckDb(dir);
    const inFile = await duckdb.columns('leads.parquet');
    duckdb.close();

    const athena: Record<string, string> = { VARCHAR: 'string', 'TIMESTAMP WITH TIME ZONE': 'timestamp' };
    const expected = inFile.map((column) => {
      const [, name = '', type = ''] = /^(\S+) (.*)$/.exec(column) ?? [];
      return [name, athena[type] ?? type.toLowerCase()];
    });
    expect(columnsOf({ columns: NAMES, tables: SETTINGS })).toEqual(Object.fromEntries(expected));
    expect(expected).toHaveLength(NAMES.length - 1);
  });

  test('has the columns that table settings name if all are requested, and warns of further ones', () => {
    const leads = { columns: 'all', tables: SETTINGS };

    const named = 'score premium sum active birthdate paid_on createdat idnumber';
    expect(Object.keys(columnsOf(leads)).join(' ')).toBe(named);
    Annotations.fromStack(catalogOf({ leads }).stack).hasWarning(
      '*',
      Match.stringLikeRegexp('8 columns of leads.*peek leads --columns'),
    );
  });

  test('does not warn about an entity whose columns are listed', () => {
    const { stack } = catalogOf({ leads: { columns: NAMES, tables: SETTINGS } });

    expect(Annotations.fromStack(stack).findWarning('*', Match.anyValue())).toEqual([]);
  });

  test('has no table without a known column, and warns of it', () => {
    const catalog = catalogOf({ leads: { columns: 'all', tables: {} } });

    expect(catalog.tables).toEqual([]);
    Annotations.fromStack(catalog.stack).hasWarning('*', Match.stringLikeRegexp('no table of leads'));
  });

  test('refuses columns that get the same name with ConfigInvalid', () => {
    const leads = { tables: { columns: { Name: 'text', name: 'text' } } };

    expect(() => catalogOf({ leads })).toThrow(
      expect.objectContaining({
        name: 'ConfigInvalid',
        message: expect.stringMatching(/^entities\.leads\.tables: .*"name"/),
      }),
    );
  });
});

describe('partitions', () => {
  const tableOf = (version: number) => catalogOf({ leads: { tables: { columns: { id: 'text' }, version } } }).tables[0];

  test.each([1, 2])('of version %i match the keys under which tables are written', (version) => {
    const { Parameters, StorageDescriptor } = tableOf(version);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder is Athena's.
    const folder = resolved(Parameters['storage.location.template']).replace('${date}', '2026-11-22');
    const [, bucket, key] = /^s3:\/\/([^/]+)\/(.*)$/.exec(folder) ?? [];

    expect(bucket).toMatch(/^Exports/);
    expect(tableKey('leads', '2026-11-22', version)).toBe(`${key}leads.parquet`);
    expect(folder).toBe(`${resolved(StorageDescriptor.Location)}date=2026-11-22/`);
  });

  test('are projected from the first valid date of an export to tomorrow', () => {
    const { Parameters } = tableOf(1);
    const [first, last] = Parameters['projection.date.range'].split(',');

    expect([dateProblem(first, first, 'UTC'), last]).toEqual([undefined, 'NOW+1DAYS']);
    expect(dateProblem('1999-12-31', first, 'UTC')).toContain(`from ${first}`);
  });
});
