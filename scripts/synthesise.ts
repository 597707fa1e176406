import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import cdkJson from '../cdk.json' with { type: 'json' };
import type { Deployment } from '../core/config/deployment.ts';
import { ExportStack } from '../lib/export-stack.ts';
import { exampleDeployment } from './deployments.ts';
import type { Template } from './template.ts';

const synthesised = new Map<string, Template>();

/** The template of a deployment, a new copy for each caller; the functions' code is not bundled. */
export function synthesise(deployment: Deployment = exampleDeployment()): Template {
  const key = JSON.stringify(deployment);
  const template = synthesised.get(key) ?? synthesiseOnce(deployment);
  synthesised.set(key, template);
  return structuredClone(template);
}

function synthesiseOnce(deployment: Deployment): Template {
  const outdir = mkdtempSync(join(tmpdir(), 'synthesised-'));
  try {
    return synthesiseInto(outdir, deployment, { 'aws:cdk:bundling-stacks': [] });
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

/**
 * Synthesises the stack and writes the assembly to a folder. Bundles the functions' code unless the context turns that
 * off.
 */
export function synthesiseInto(
  outdir: string,
  deployment: Deployment,
  context: Record<string, unknown> = {},
): Template {
  const app = newApp(outdir, context);
  const configuration = { name: 'example', file: 'config/example.json', deployment };
  const stack = new ExportStack(app, 'crm-export-example', { configuration, softwareVersion: '0.0.0' });
  return app.synth().getStackArtifact(stack.artifactId).template;
}

/**
 * An app as the CDK CLI runs it, without the tree of constructs, which only IDEs read.
 * @param context additions to `cdk.json`
 */
export function newApp(outdir: string, context: Record<string, unknown> = {}): App {
  return new App({
    outdir,
    analyticsReporting: false,
    treeMetadata: false,
    context: { ...cdkJson.context, ...context },
  });
}
