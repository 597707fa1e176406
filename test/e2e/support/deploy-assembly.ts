import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import {
  CloudFormationClient,
  CreateStackCommand,
  DeleteStackCommand,
  UpdateStackCommand,
  waitUntilStackCreateComplete,
  waitUntilStackDeleteComplete,
  waitUntilStackUpdateComplete,
} from '@aws-sdk/client-cloudformation';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { ZipFile } from 'yazl';
import * as z from 'zod';
import { clientSettings } from '../../../cli/support/target.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../../local/ministack/ministack-environment.ts';

/**
 * Deploys and destroys stacks without the CDK CLI, whose process takes almost three CPU seconds for each stack. The CDK
 * CLI itself deploys in `start.slow.test.ts`.
 */

const WAIT = { maxWaitTime: 240, minDelay: 0.1, maxDelay: 1 };
const assetsSchema = z.object({
  files: z.record(
    z.string(),
    z.object({
      source: z.object({ path: z.string(), packaging: z.enum(['file', 'zip']) }),
      destinations: z.record(z.string(), z.object({ bucketName: z.string(), objectKey: z.string() })),
    }),
  ),
});

/** Uploads the assets of an assembly and creates or updates its stack. @throws Error if the stack fails */
export async function deployAssembly(endpoint: string, outputDir: string, StackName: string): Promise<void> {
  const settings = clientSettings({ endpointUrl: endpoint, region: LOCAL_REGION });
  const s3 = new S3Client({ ...settings, forcePathStyle: true });
  const template = `${StackName}.template.json`;
  const { files } = assetsSchema.parse(JSON.parse(readFileSync(join(outputDir, `${StackName}.assets.json`), 'utf8')));
  let TemplateURL = '';
  for (const { source, destinations } of Object.values(files)) {
    const path = join(outputDir, source.path);
    const Body = source.packaging === 'zip' ? await zipped(path) : readFileSync(path);
    for (const { bucketName, objectKey: Key } of Object.values(destinations)) {
      const Bucket = bucketName
        .replace(/\$\{AWS::AccountId\}/, LOCAL_ACCOUNT)
        .replace(/\$\{AWS::Region\}/, LOCAL_REGION);
      await s3.send(new PutObjectCommand({ Bucket, Key, Body }));
      if (source.path === template) TemplateURL = `${endpoint}/${Bucket}/${Key}`;
    }
  }
  const client = new CloudFormationClient(settings);
  const stack = { StackName, TemplateURL, Capabilities: ['CAPABILITY_NAMED_IAM' as const] };
  const exists = await client.send(new CreateStackCommand(stack)).then(
    () => false,
    (error: Error) => {
      if (error.name !== 'AlreadyExistsException') throw error;
      return true;
    },
  );
  if (!exists) await waitUntilStackCreateComplete({ client, ...WAIT }, { StackName });
  else if (await updates(client, stack)) await waitUntilStackUpdateComplete({ client, ...WAIT }, { StackName });
}

/** Deletes a stack and waits until it is gone. */
export async function destroyStack(endpoint: string, StackName: string): Promise<void> {
  const client = new CloudFormationClient(clientSettings({ endpointUrl: endpoint, region: LOCAL_REGION }));
  await client.send(new DeleteStackCommand({ StackName }));
  await waitUntilStackDeleteComplete({ client, ...WAIT }, { StackName });
}

/** Starts an update. @returns whether it changes the stack */
async function updates(
  client: CloudFormationClient,
  stack: ConstructorParameters<typeof UpdateStackCommand>[0],
): Promise<boolean> {
  return client.send(new UpdateStackCommand(stack)).then(
    () => true,
    (error: Error) => {
      if (error.message !== 'No updates are to be performed.') throw error;
      return false;
    },
  );
}

/** Zips a folder without compression, which would take longer than sending the files. */
function zipped(folder: string): Promise<Buffer> {
  const zip = new ZipFile();
  for (const name of readdirSync(folder)) zip.addFile(join(folder, name), name, { compress: false });
  zip.end();
  return buffer(zip.outputStream);
}
