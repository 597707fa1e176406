import { testTransferProperties, transfersByWire } from '../support/transfer-properties.ts';

testTransferProperties(
  await transfersByWire(),
  process.env.CI ? { fewFaults: 300, anyFaults: 300 } : { fewFaults: 1200, anyFaults: 600 },
);
