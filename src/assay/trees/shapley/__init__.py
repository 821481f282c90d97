"""Why this prediction: Shapley values of trees and their ensembles."""
