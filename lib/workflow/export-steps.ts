import { Duration, Size, type Stack } from 'aws-cdk-lib';
import { feedEntities } from '../../core/changes/feed-keys.ts';
import type { Configuration } from '../../core/config/configuration.ts';
import type { InvokedName } from '../../core/step/steps.ts';
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
export const long = (memorySize: number) => ({ memorySize, timeout: Duration.minutes(15) });

/** Makes functions of steps, each with its rights. A function that uses the grant calls the CRM. */
export function stepFunctions(stack: Stack, props: StepsProps) {
  const { configuration, key, exports } = props;
  return (name: InvokedName, settings: FunctionSettings, environment: Record<string, string>): StepFunction => {
    const made = new StepFunction(stack, name, { configuration, key, ...settings, environment });
    if ('LEDGER_TABLE' in environment) allowCrmCalls(made, props);
    exports.allow(name, made.role);
    return made;
  };
}

/** The functions of the machine ExportRun, each with its environment and permissions. */
export function exportSteps(stack: Stack, props: StepsProps): ExportSteps {
  const { configuration, key, exports, tokens, hashKey, softwareVersion } = props;
  const { deployment } = configuration;
  const step = stepFunctions(stack, props);
  const { crm, files, network, tableMemoryMB } = deployment;
  const { download, publish } = files.memoryMB;
  const create = { ...SHORT, timeout: Duration.seconds(CREATE_ASIDE_SECONDS + crm.createTimeoutSeconds) };
  const oauth = tokens.environment;
  const bucket = { BUCKET_NAME: exports.bucket.bucketName };
  // The transfer engine builds the addresses of objects itself.
  const storing = { URL_SUFFIX: stack.urlSuffix, ...streaming(download) };
  if (network) checkSubnets(stack, network);
  const steps: ExportSteps = {
    CreateExport: step('CreateExport', create, { ...oauth, ...bucket, SOFTWARE_VERSION: softwareVersion }),
    CheckStatus: step('CheckStatus', SHORT, oauth),
    DownloadFile: step('DownloadFile', long(download), { ...oauth, ...bucket, ...storing }),
    PublishFile: step('PublishFile', long(publish), { ...bucket, ...streaming(publish) }),
    RecordNight: step('RecordNight', NIGHT, bucket),
  };
  if (tableEntities(deployment).length === 0) return steps;
  const layers = deployment.local ? [] : [duckDbLayer(stack)];
  const size = { ...long(tableMemoryMB), ephemeralStorageSize: DISK, layers };
  const hashing: Record<string, string> = hashKey === undefined ? {} : { HASH_KEY_SECRET_ID: hashKey };
  steps.WriteTable = step('WriteTable', size, { ...bucket, ...hashing, ...streaming(tableMemoryMB) });
  if (hashKey !== undefined) key.allowSecret(steps.WriteTable.role, hashKey);
  if (feedEntities(deployment).length > 0) steps.WriteChanges = step('WriteChanges', size, bucket);
  return steps;
}
