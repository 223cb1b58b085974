/** What a person can press, order or tell back, and what a press says. */
export const enActions = {
  /** Comments and placeholders of an order that is not ready until a person has filled it in. */
  order: {
    image: 'pick an image with GPU driver and CUDA from this list (plain images have no driver)',
    fillIn: 'fill in what stands in <…>; DryRun only checks and buys nothing, leave it out to order',
    imageId: 'image with driver',
    securityGroup: 'sg-…',
    vSwitch: 'vsw-…',
    keyPair: 'your key pair',
    checks: [
      'quota: new accounts have none for A100 families; apply in the Quota Center (1 to 5 working days)',
      'stock differs by zone and hour: DryRun also checks it; have a second zone or type ready',
      'real-name registration and a balance of about 100 CNY are needed for pay-as-you-go',
      'first a short test run: compare nvidia-smi with the figure above and tell me what it showed',
    ],
  },

  choices: {
    ampOn: 'Turn on AMP',
    ampOff: 'AMP off (fp32)',
    batch: (batch: number) => `Batch ${batch}`,
    checkpointing: 'Checkpointing',
    otherBudget: 'Other budget',
    ownCard: 'My own GPU',
    order: 'Order command',
    details: 'Details',
    library: (name: string) => `${name}'s version`,
    defaultValue: 'Use the default',
    noLimit: 'No limit',
    startOver: 'Start over',
    example: 'Show an example',
  },
  /** What a press of a choice says; understood like any typed text. */
  say: {
    ampOn: 'turn on amp',
    ampOff: 'use fp32',
    batch: (batch: number) => `batch ${batch}`,
    checkpointing: 'turn on gradient checkpointing',
    otherBudget: 'change the budget',
    ownCard: 'I have my own GPU',
    order: 'order command',
    details: 'details',
    defaultValue: 'use the default',
    noLimit: 'no budget limit',
    startOver: 'start over',
    take: (name: string) => `use ${name}`,
    size: (side: number) => `${side}x${side}`,
    budgetHour: (amount: number) => `budget ${amount} CNY per hour`,
    budgetMonth: (amount: number) => `budget ${amount} CNY per month`,
  },

  measured: {
    verdict: (what: string, measured: string, estimated: string, difference: string) =>
      `${what}: measured ${measured}, estimated ${estimated} (${difference})`,
    device: 'nvidia-smi',
    allocated: 'max_memory_allocated',
    time: 'time per step',
    within: 'Within the stated uncertainty.',
    above: 'More than estimated.',
    below: 'Less than estimated: it leaves room for a larger batch.',
    slower: 'Slower than estimated.',
    faster: 'Faster than estimated.',
    causes: 'Usual causes',
    kept: 'Kept for the comparison list, without your name.',
    smiIsMore:
      'nvidia-smi also counts the CUDA context and memory that PyTorch holds in reserve; compare max_memory_allocated() for the true need.',
    needsAnswer: 'Which run was that? Tell me model, image size and batch, and I set the figure beside an estimate.',
    needsCard: 'On which card was that? Say both ("2080 Ti, 0.31 s/iter"), and I set it beside the estimate.',
  },
};

export type ActionMessages = typeof enActions;
