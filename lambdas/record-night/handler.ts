import { S3Client } from '@aws-sdk/client-s3';
import type { Context } from 'aws-lambda';
import * as z from 'zod/mini';
import { AWS_LIMITS } from '../../core/aws/aws-limits.ts';
import { readEnv } from '../../core/aws/env.ts';
import { aboutRun } from '../../core/step/run-input.ts';
import { runStateSchema } from '../../core/step/states.ts';
import { crash, lambdaPlatform, once, type Platform } from '../../core/step/step.ts';
import { RECORDER } from '../../core/step/steps.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { checkNights } from './check-nights.ts';
import { recordNight } from './record-night.ts';

/** The event of the hourly rule. */
const checkSchema = z.object({ source: z.literal('aws.events'), time: z.iso.datetime() });

/** @param platform the environment of the function; tests replace it */
export function recorder({ log, deployment }: Platform = lambdaPlatform(RECORDER)) {
  const connect = once(() => {
    const { BUCKET_NAME } = readEnv(process.env, 'BUCKET_NAME');
    const client = new S3Client(AWS_LIMITS);
    return { bucket: createBucket(client, BUCKET_NAME) };
  });
  return async (event: unknown, { awsRequestId }: Context): Promise<void> => {
    try {
      const deps = { ...connect(), deployment: deployment(), log };
      const check = checkSchema.safeParse(event).data;
      if (check) return await checkNights(new Date(check.time), deps);
      const state = z.parse(runStateSchema, event);
      await recordNight(state, { ...deps, log: log.about(aboutRun(state)) });
    } catch (error) {
      throw crash(RECORDER, error, awsRequestId, log);
    }
  };
}

/** State RecordNight of the machine ExportRun, also invoked by a rule every hour. Returns no value. */
export const handler = recorder();
