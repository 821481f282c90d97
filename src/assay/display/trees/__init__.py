"""Pictures of trees and of their ensembles."""
