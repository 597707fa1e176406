import { Annotations, Stack } from 'aws-cdk-lib';
import { CfnDatabase, CfnTable } from 'aws-cdk-lib/aws-glue';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { OWN_COLUMNS } from '../../core/changes/feed-columns.ts';
import { feedsOf } from '../../core/changes/feed-keys.ts';
import { ConfigurationError } from '../../core/config/configuration.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import type { EntityPlan } from '../../core/config/entity-settings.ts';
import type { ColumnType, TableSettings } from '../../core/config/table-settings.ts';
import { FIRST_DATE } from '../../core/export/valid-date.ts';
import { tableEntities, tablesOf } from '../../core/table/stored-table.ts';
import { type TableColumn, tableColumns } from '../../core/table/table-columns.ts';
import { TableError } from '../../core/table/table-error.ts';

/** The types that have another name in Hive (https://docs.aws.amazon.com/athena/latest/ug/data-types.html). */
const HIVE_TYPES: Record<string, string> = { text: 'string', integer: 'bigint' };

/** https://docs.aws.amazon.com/athena/latest/ug/parquet-serde.html */
const PARQUET = {
  inputFormat: 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat',
  outputFormat: 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat',
  serdeInfo: { serializationLibrary: 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe' },
};

/**
 * The tables in Athena (docs/adr/0031): a database of the deployment, with a table for each entity that has one. They
 * exist only in the template: partitions follow from the dates in the keys, so new files need no registration.
 */
export class TableCatalog extends Construct {
  private readonly bucket: Bucket;

  /** @param bucket the bucket of the exports, which also has the tables */
  constructor(scope: Construct, id: string, { deployment, bucket }: { deployment: Deployment; bucket: Bucket }) {
    super(scope, id);
    this.bucket = bucket;
    const entities = tableEntities(deployment);
    if (entities.length === 0) return;
    const { account, stackName } = Stack.of(this);
    // Athena supports neither the name that AWS would generate for a database, nor hyphens.
    const name = withoutHyphens(stackName);
    const database = new CfnDatabase(this, 'Database', { catalogId: account, databaseInput: { name } });
    for (const entity of entities) this.describe(database, entity, deployment.entities[entity]);
  }

  private describe(database: CfnDatabase, entity: Entity, plan: EntityPlan): void {
    if (!plan.tables) return;
    const columns = columnsOf(entity, plan, plan.tables);
    if (!plan.columns.only) {
      const sees = ['no table', '1 column'][columns.length] ?? `${columns.length} columns`;
      const text = `Athena sees ${sees} of ${entity}, because it knows only the columns that \`tables\` names. To list all columns of a file: peek ${entity} --columns.`;
      Annotations.of(this).addWarningV2(`crm-export:catalog-${entity}`, text);
    }
    if (columns.length === 0) return;
    this.addTable(database, entity, columns, tablesOf(entity, plan.tables.version));
    // Athena ignores names that begin with an underscore, and reads the folders of runs below a date.
    if (plan.changes) this.addTable(database, `${entity}_changes`, [...OWN_COLUMNS, ...columns], feedsOf(entity));
  }

  /** @param prefix of the keys of its files, before the folder of a date */
  private addTable(
    database: CfnDatabase,
    id: string,
    columns: readonly { name: string; type: ColumnType }[],
    prefix: string,
  ): void {
    const location = this.bucket.s3UrlForObject(prefix);
    new CfnTable(this, id, {
      catalogId: Stack.of(this).account,
      databaseName: database.ref,
      tableInput: {
        name: withoutHyphens(id),
        tableType: 'EXTERNAL_TABLE',
        partitionKeys: [{ name: 'date', type: 'string' }],
        parameters: { classification: 'parquet', ...projection(location) },
        storageDescriptor: {
          ...PARQUET,
          location,
          columns: columns.map(({ name, type }) => ({ name, type: hiveType(type) })),
        },
      },
    });
  }
}

/**
 * Partitions by date. `NOW` is in UTC, which may be a day behind the deployment's time zone. The key is a string, as in
 * https://docs.aws.amazon.com/athena/latest/ug/partition-projection-supported-types.html.
 */
function projection(location: string): Record<string, string> {
  return {
    'projection.enabled': 'true',
    'projection.date.type': 'date',
    'projection.date.format': 'yyyy-MM-dd',
    'projection.date.range': `${FIRST_DATE},NOW+1DAYS`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder is Athena's.
    'storage.location.template': `${location}${'date=${date}/'}`,
  };
}

/** The columns that are known before the first file. @throws ConfigurationError if two columns would have one name */
function columnsOf(entity: Entity, plan: EntityPlan, settings: TableSettings): TableColumn[] {
  const named = plan.columns.only ?? [...Object.keys(settings.columns), ...(settings.hash ?? [])];
  if (named.length === 0) return [];
  try {
    return tableColumns(named, settings);
  } catch (error) {
    if (!(error instanceof TableError)) throw error;
    throw new ConfigurationError(`entities.${entity}.tables: ${error.message}`);
  }
}

function hiveType(type: ColumnType): string {
  const name = typeof type === 'string' ? type : type.type;
  if (typeof type !== 'string' && type.type === 'decimal') return `decimal(${type.precision},${type.scale})`;
  return HIVE_TYPES[name] ?? name;
}

/** Athena supports only letters, digits and underscores in names. */
function withoutHyphens(name: string): string {
  return name.replaceAll('-', '_');
}
