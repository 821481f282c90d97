"""Pictures of trees and their ensembles."""
