import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Architecture, Code, LayerVersion, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';

/** A package with its own lockfile, because in the project npm installs only the binding for this machine. */
const PACKAGES = join(import.meta.dirname, 'duckdb');
const INSTALL = [
  'ci',
  '--cpu=arm64',
  '--os=linux',
  '--libc=glibc',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--prefer-offline',
];

/**
 * The native part of DuckDB for functions, which are arm64 even if another machine deploys them. Bundles find it with
 * `require`, because Lambda puts layers in NODE_PATH. Functions in a local cloud use the binding of this machine.
 */
export function duckDbLayer(scope: Construct): LayerVersion {
  return new LayerVersion(scope, 'DuckDb', {
    description: 'DuckDB for Node.js',
    code: Code.fromAsset(PACKAGES, { bundling: bundledHere(install), assetHashType: AssetHashType.SOURCE }),
    compatibleArchitectures: [Architecture.ARM_64],
    compatibleRuntimes: [Runtime.NODEJS_24_X],
    license: 'MIT',
  });
}

/** Installs the layer. CDK keeps the layer in `cdk.out`, and installs it again only if the lockfile changes. */
function install(outputDir: string): void {
  const nodejs = join(outputDir, 'nodejs');
  cpSync(PACKAGES, nodejs, { recursive: true });
  execFileSync('npm', INSTALL, { cwd: nodejs, stdio: ['ignore', 'ignore', 'inherit'] });
  const binding = join(nodejs, 'node_modules', '@duckdb', 'node-bindings-linux-arm64', 'duckdb.node');
  // npm skips an optional package that it cannot install.
  if (existsSync(binding)) return;
  throw new Error(`npm installed no ${binding}. Check that the npm registry offers this package, then try again.`);
}

/**
 * Options that make an asset in this process instead of in Docker.
 * @param environment part of the key under which CDK caches the asset
 */
export function bundledHere(write: (outputDir: string) => void, environment?: Record<string, string>) {
  const tryBundle = (outputDir: string) => {
    write(outputDir);
    // The archive keeps file modes: with a strict umask Lambda could not read the files.
    chmodSync(outputDir, 0o755);
    for (const entry of readdirSync(outputDir, { recursive: true, withFileTypes: true }))
      chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
    return true;
  };
  // CDK requires an image for bundling in Docker, which is never used.
  return { image: DockerImage.fromRegistry('unused'), ...(environment && { environment }), local: { tryBundle } };
}
