import { bundleAhead } from '../lib/workflow/step-bundles.ts';

// Bundling starts before CDK is loaded, because both take equally long.
const bundled = bundleAhead();
const { exportApp } = await import('../lib/export-app.ts');
await exportApp(bundled);
