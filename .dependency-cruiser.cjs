const { layers, everybody, packages } = require('./scripts/import-rule.json');

const ours = '^(src|adapters|catalog)/';
const anchored = (patterns) => patterns.map((pattern) => `^${pattern}`);

/** Two rules a layer: what it may import at all, and what it may import at run time. */
const layerRules = layers.flatMap(({ from, values, types }) => {
  const always = anchored([from, ...values, ...everybody.filter(() => !from.startsWith('src/errors'))]);
  return [
    {
      name: `layer ${from}`,
      severity: 'error',
      from: { path: `^${from}` },
      to: { path: ours, pathNot: [...always, ...anchored(types)] },
    },
    {
      name: `layer ${from} at run time`,
      severity: 'error',
      from: { path: `^${from}` },
      to: { path: ours, pathNot: always, dependencyTypesNot: ['type-only'] },
    },
  ];
});

const packageRules = packages.map(({ package: name, only }) => ({
  name: `package ${name} stays in ${only}`,
  severity: 'error',
  from: { path: ours, pathNot: `^${only}` },
  to: { path: `^node_modules/${name}(/|$)` },
}));

module.exports = {
  forbidden: [
    ...layerRules,
    ...packageRules,
    {
      name: 'no cycle at run time',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'nothing imports tests', severity: 'error', from: { path: ours }, to: { path: '^test/' } },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { conditionNames: ['import', 'node', 'default', 'types'], exportsFields: ['exports'] },
  },
};
