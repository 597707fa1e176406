import { Duration, Size, type Stack } from 'aws-cdk-lib';
import { feedEntities } from '../../core/changes/feed-keys.ts';
import type { Configuration } from '../../core/config/configuration.ts';
import { RECORDER, type StepName } from '../../core/step/steps.ts';
import { DISK_MB } from '../../core/table/engine.ts';
import { tableEntities } from '../../core/table/stored-table.ts';
import type { EncryptionKey } from '../resources/encryption-key.ts';
import type { ExportBucket } from '../resources/export-bucket.ts';
import type { TokenStore } from '../resources/token-store.ts';
import { allowCrmCalls, checkSubnets } from './crm-access.ts';
import { duckDbLayer } from './duckdb-layer.ts';
import { streaming } from './node-options.ts';
import { type ExportSteps, type FunctionSettings, StepFunction } from './step-function.ts';

/** The resources that the functions of a deployment use. */
export interface StepsProps {
  configuration: Configuration;
  key: EncryptionKey;
  exports: ExportBucket;
  tokens: TokenStore;
  /** The id of the secret with the key of hashed columns. */
  hashKey: string | undefined;
  softwareVersion: string;
}

/**
 * A CRM call may take 30 seconds, a token refresh 50 (or a minute of waiting for another function's refresh), and the
 * repeated call 30. CreateExport makes two calls, the second with a configured time limit, and reads two objects of
 * the bucket in at most 25 seconds each.
 */
const SHORT = { memorySize: 256, timeout: Duration.seconds(300) };
const CREATE_ASIDE_SECONDS = 290;
/** RecordNight reads about twenty small objects, some of them again, and at the hourly check those of seven dates. */
const NIGHT = { memorySize: 256, timeout: Duration.seconds(120) };
/** Room for the rows of a file, for both tables of a comparison, and for rows that do not fit in memory. */
const DISK = Size.mebibytes(DISK_MB);
/** 15 minutes is the maximum of Lambda; docs/adr/0014 describes the effect of the memory on large files. */
const long = (memorySize: number) => ({ memorySize, timeout: Duration.minutes(15) });

/** The functions of the machine ExportRun, each with its environment and permissions. */
export function exportSteps(stack: Stack, props: StepsProps): ExportSteps {
  const { configuration, key, exports, tokens, hashKey, softwareVersion } = props;
  const step = (name: StepName | typeof RECORDER, settings: FunctionSettings, environment: Record<string, string>) =>
    new StepFunction(stack, name, { configuration, key, ...settings, environment });
  const { crm, files, network, tableMemoryMB } = configuration.deployment;
  const { memoryMB } = files;
  const create = { ...SHORT, timeout: Duration.seconds(CREATE_ASIDE_SECONDS + crm.createTimeoutSeconds) };
  const oauth = tokens.environment;
  const bucket = { BUCKET_NAME: exports.bucket.bucketName };
  const steps = {
    CreateExport: step('CreateExport', create, { ...oauth, ...bucket, SOFTWARE_VERSION: softwareVersion }),
    CheckStatus: step('CheckStatus', SHORT, oauth),
    DownloadFile: step('DownloadFile', long(memoryMB.download), {
      ...oauth,
      ...bucket,
      // The transfer engine builds the addresses of objects itself.
      URL_SUFFIX: stack.urlSuffix,
      ...streaming(memoryMB.download),
    }),
    RecordNight: step('RecordNight', NIGHT, bucket),
    PublishFile: step('PublishFile', long(memoryMB.publish), { ...bucket, ...streaming(memoryMB.publish) }),
  };
  allowCrmCalls([steps.CreateExport, steps.CheckStatus, steps.DownloadFile], props);
  if (network) checkSubnets(stack, network);
  for (const name of ['CreateExport', 'DownloadFile', 'PublishFile', RECORDER] as const)
    exports.allow(name, steps[name].role);
  if (tableEntities(configuration.deployment).length === 0) return steps;
  const options = streaming(tableMemoryMB);
  const table = { ...bucket, ...(hashKey !== undefined && { HASH_KEY_SECRET_ID: hashKey }), ...options };
  const layers = configuration.deployment.local ? [] : [duckDbLayer(stack)];
  const size = { ...long(tableMemoryMB), ephemeralStorageSize: DISK, layers };
  const WriteTable = step('WriteTable', size, table);
  exports.allow('WriteTable', WriteTable.role);
  if (hashKey !== undefined) key.allowSecret(WriteTable.role, hashKey);
  if (feedEntities(configuration.deployment).length === 0) return { ...steps, WriteTable };
  const WriteChanges = step('WriteChanges', size, bucket);
  exports.allow('WriteChanges', WriteChanges.role);
  return { ...steps, WriteTable, WriteChanges };
}
