import type { Catalog } from '../../../catalog/index.ts';
import type { RecipeRow } from '../../../catalog/rows.ts';
import type { ModelSpec } from '../../estimator/workload.ts';
import type { RunBasis } from '../recommendation.ts';
import type { RunLength } from '../request.ts';

/** Images seen over a whole run, or optimizer steps where those were said. */
export interface Run {
  readonly basis: RunBasis;
  /** Optimizer steps with this many images per step over all GPUs. */
  iterations(imagesPerStep: number): number;
  /** Recipe behind the usual run. */
  readonly recipe?: string;
}

const byImages = (basis: RunBasis, images: number, recipe?: string): Run => ({
  basis,
  iterations: (imagesPerStep) => Math.ceil(images / imagesPerStep),
  ...(recipe === undefined ? {} : { recipe }),
});

function stated(said: RunLength, catalog: Catalog): Run | null {
  const { iterations, epochs } = said;
  if (iterations !== undefined) return { basis: 'stated', iterations: () => iterations };
  if (epochs === undefined) return null;
  const images = said.trainImages ?? datasetImages(said, catalog);
  return images === null ? null : byImages('epochs', epochs * images);
}

function datasetImages(said: RunLength, catalog: Catalog): number | null {
  return catalog.datasets.find((row) => row.id === said.dataset)?.trainImages ?? null;
}

const recipeSteps = (recipe: RecipeRow): number | null => recipe.iterations ?? recipe.iterationsDerived;

/**
 * The usual run on that data set: of the recipes that fit the model best, the longest (the schedule that reaches the
 * published figures), with the number of images seen held constant when the batch differs (recipes.json, scaling rule "linear").
 */
function usual(said: RunLength, catalog: Catalog, model: ModelSpec): Run | null {
  if (said.dataset === undefined) return null;
  const recipes = catalog.recipesFor({
    library: model.implementation,
    architecture: model.architecture,
    dataset: said.dataset,
  });
  const sized = recipes.flatMap((recipe) => {
    const steps = recipeSteps(recipe);
    return steps === null || recipe.totalBatch === null ? [] : [{ id: recipe.id, images: steps * recipe.totalBatch }];
  });
  const longest = sized.sort((left, right) => right.images - left.images)[0];
  return longest === undefined ? null : byImages('usual', longest.images, longest.id);
}

/** Length of the run as it was said, else as it usually is; null when neither is known. */
export function runLengthOf(said: RunLength, catalog: Catalog, model: ModelSpec): Run | null {
  return stated(said, catalog) ?? usual(said, catalog, model);
}
