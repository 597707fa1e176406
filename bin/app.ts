import { bundleAhead } from '../lib/workflow/step-bundles.ts';

// Begun before CDK is loaded, which takes as long.
const bundled = bundleAhead();
const { exportApp } = await import('../lib/export-app.ts');
await exportApp(bundled);
