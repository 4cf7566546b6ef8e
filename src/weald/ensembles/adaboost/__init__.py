"""AdaBoost in all the forms it is told in."""
